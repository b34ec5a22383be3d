"""The report: one HTML page with a slider over all operating points.

In come evaluations; out goes one file that needs no network. It is made with Jinja2, Plotly and Pillow, which only
this package imports: they come with the extra `report`.
"""

from hedgerow.show.page.document import page_html
from hedgerow.show.page.page_data import PageModel, PagePoint

__all__ = ["PageModel", "PagePoint", "page_html"]
