"""The parts of a page that a browser dumped, read by Python's own parser."""

import html.parser


class Page(html.parser.HTMLParser):
    """Attributes: `sections`, by id the text in them; `plots`, by section the number of SVG
    elements; `elements`, every (tag, attributes)."""

    def __init__(self, text):
        super().__init__()
        self.sections, self.plots, self.elements = {}, {}, []
        self._section = None
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.elements.append((tag, attributes))
        if tag == "section":
            self._section = attributes["id"]
            self.sections[self._section], self.plots[self._section] = "", 0
        elif tag == "svg" and self._section:
            self.plots[self._section] += 1

    def handle_endtag(self, tag):
        if tag == "section":
            self._section = None

    def handle_data(self, data):
        if self._section:
            self.sections[self._section] += data
