// The page of the operators' console, as bytes of the server's program: `holdfast serve --console` has them at /console/.

#include "web_client.h"

#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char index_html[] = {
#embed "../../console/index.html"
};
static const unsigned char console_css[] = {
#embed "../../console/console.css"
};
static const unsigned char console_js[] = {
#embed "../../console/console.js"
};
static const unsigned char views_js[] = {
#embed "../../console/views.js"
};
static const unsigned char elements_js[] = {
#embed "../../console/elements.js"
};
static const unsigned char charts_js[] = {
#embed "../../console/charts.js"
};
static const unsigned char actions_js[] = {
#embed "../../console/actions.js"
};
static const unsigned char operations_js[] = {
#embed "../../console/operations.js"
};

static const struct web_client_file files[] = {
  {"index.html", index_html, sizeof index_html},
  {"console.css", console_css, sizeof console_css},
  {"console.js", console_js, sizeof console_js},
  {"views.js", views_js, sizeof views_js},
  {"elements.js", elements_js, sizeof elements_js},
  {"operations.js", operations_js, sizeof operations_js},
  {"actions.js", actions_js, sizeof actions_js},
  {"charts.js", charts_js, sizeof charts_js},
};

size_t console_file_count(void) { return sizeof files / sizeof files[0]; }

struct web_client_file console_file(size_t index) { return files[index]; }
