"""Reads a page as a browser's parser would, and knows what a page may have."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = {"meta", "br", "rect", "path", "circle"}
TAGS = {
    "html", "head", "meta", "title", "style", "body", "header", "nav", "main", "section", "article",
    "h1", "h2", "h3", "p", "a", "ul", "ol", "li", "dl", "dt", "dd", "div", "span", "b", "br",
    "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "details", "summary",
    "svg", "g", "rect", "path", "circle", "text", "tspan",
}  # fmt: skip


class Page(HTMLParser):
    """A page, parsed; elements that are not closed in order are an error."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.metas: list[dict[str, str]] = []
        self.text: list[str] = []
        self.targets: dict[str, str] = {}
        """The text of each element that has an id."""
        self._open: list[tuple[str, str | None, int]] = []
        self.feed(text)
        self.close()
        assert not self._open, self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        assert len(found) == len(attrs), (tag, attrs)
        self.tags.add(tag)
        self.attributes.update(found)
        if "id" in found:
            self.ids.append(found["id"])
        if tag == "a":
            self.links.append(found["href"])
        if tag == "meta":
            self.metas.append(found)
        if tag not in VOID:
            self._open.append((tag, found.get("id"), len(self.text)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        opened, id, start = self._open.pop()
        assert opened == tag, f"<{opened}> is closed by </{tag}>"
        if id is not None:
            self.targets[id] = " ".join(" ".join(self.text[start:]).split())

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def check(self) -> None:
        """See that there is nothing in it that a report's page has not."""
        assert self.tags <= TAGS, self.tags - TAGS
        assert not any(name.startswith("on") for name in self.attributes), self.attributes
        assert not self.attributes & {"src", "srcset", "action", "formaction", "data"}
        assert len(self.ids) == len(set(self.ids))
        inside = {link for link in self.links if link.startswith("#")}
        assert inside <= {f"#{id}" for id in self.ids}
        outside = "https://meta-pytorch.github.io/compile-graph-break-site/"
        assert all(link.startswith(outside) for link in set(self.links) - inside)
