"""The report: one HTML page with a slider over all operating points.

In come evaluations; out goes one file that needs no network. It is made with Jinja2 and Pillow, which come with
the extra `report`; scripts of our own draw it.
"""

from hedgerow.show.page.document import page_html
from hedgerow.show.page.page_data import PageModel, PagePoint
