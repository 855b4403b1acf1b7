/** The entry of /api/docs: Swagger UI on the site's own OpenAPI document, with the reader's session. */
import SwaggerUI from "swagger-ui-dist/swagger-ui-es-bundle";
import "swagger-ui-dist/swagger-ui.css";

// Read here: a module shared with the product's own page would cost that page a second round trip.
const token = () => document.cookie.match(/(?:^|; )(?:__Host-)?csrftoken=([^;]*)/)?.[1] ?? "";

interface Sent {
  headers: Record<string, string>;
}

document.title = "API · Sightglass";

SwaggerUI({
  domNode: document.getElementById("app"),
  url: "/api/openapi.json",
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  tryItOutEnabled: true,
  // The validator's badge would ask another site.
  validatorUrl: null,
  requestInterceptor: (request: Sent) => {
    request.headers["X-CSRFToken"] = token();
    return request;
  },
});
