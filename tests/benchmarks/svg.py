"""Pictures as SVG text: the same numbers give the same bytes."""

from __future__ import annotations

from xml.sax.saxutils import escape, quoteattr

INK = "#24292f"
PAPER = "#ffffff"
FONT = "ui-sans-serif, system-ui, Helvetica, Arial, sans-serif"


def element(tag: str, text: str = "", /, **attributes: str | float) -> str:
    """Return an element; `stroke_width` is written `stroke-width`, coordinates with one decimal."""
    written = "".join(
        f" {name.rstrip('_').replace('_', '-')}={quoteattr(number(value))}"
        for name, value in attributes.items()
    )
    return f"<{tag}{written}>{escape(text)}</{tag}>" if text else f"<{tag}{written}/>"


def number(value: str | float) -> str:
    """Return a number with at most one decimal, or a text as it is."""
    if isinstance(value, str):
        return value
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def picture(title: str, width: float, height: float, elements: list[str]) -> str:
    """Return a whole picture on white paper.

    Args:
        title: what is told to those who do not see it.
        width: of the picture, in pixels.
        height: the same.
        elements: what is drawn, from the back to the front.
    """
    size = {"width": number(width), "height": number(height)}
    head = "".join(f" {name}={quoteattr(value)}" for name, value in size.items())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg"{head}'
        f' viewBox="0 0 {size["width"]} {size["height"]}" font-family="{FONT}" font-size="14"'
        f' fill="{INK}" role="img">',
        element("title", title),
        element("rect", width="100%", height="100%", fill=PAPER),
        *elements,
        "</svg>",
    ]
    return "\n".join(lines) + "\n"
