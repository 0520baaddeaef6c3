from .figures import bar_figure as bar_figure
from .figures import confusion_figure as confusion_figure
from .figures import image_grid_figure as image_grid_figure
from .figures import orbit_figure as orbit_figure
from .figures import save_figure as save_figure
from .provenance import software_versions as software_versions
from .report import Report as Report
