from django.apps import AppConfig


class McpClientConfig(AppConfig):
    name = "webapp.tools.mcpclient"
    label = "mcpclient"
    verbose_name = "MCP servers"

    def ready(self) -> None:
        from webapp.tools.mcpclient.configured import ConfigError, servers

        try:
            servers()
        except ConfigError as error:
            raise SystemExit(f"sightglass: SIGHTGLASS_MCP_CONFIG cannot be used: {error}.") from None
