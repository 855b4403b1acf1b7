/** Maps an address to a page. Knows nothing of the pages. */
import { deskPageAt, type DeskPage } from "../desk/pages";

export type Route =
  | { page: "chat"; conversation: string | null }
  | { page: "turns"; conversation: string }
  | { page: "request"; request: string }
  | { page: "reading"; request: string }
  | { page: "library" }
  | { page: "learn"; exhibit: string | null }
  | { page: "compare"; ids: string[] }
  | { page: "rerun"; rerun: string }
  | { page: "race"; from: string | null }
  | { page: "usage"; group: number | null; query: string }
  | { page: "account" }
  | { page: "connect" }
  | { page: "bring" }
  | { page: "batches" }
  | { page: "batch"; batch: string }
  | { page: "memory" }
  | { page: "recordings" }
  | { page: "recording"; recording: number }
  | { page: "reprice" }
  | { page: "wall" }
  | { page: "desk"; entry: DeskPage; rest: string; query: string }
  | { page: "unknown" };

/** The route of a path, with its query where the page has one. */
export function routeOf(address: string): Route {
  const [path = "", query = ""] = address.split("?");
  // The admin's other pages are the server's.
  if (path === "/admin/wall/") return { page: "wall" };
  const desk = deskPageAt(path);
  if (desk) return { page: "desk", entry: desk.page, rest: desk.rest, query };
  const [first = "", id = "", ...rest] = path.split("/").slice(1);
  if (first === "c" && id && rest[0] === "turns" && rest.length === 1)
    return { page: "turns", conversation: id };
  if (first === "admin" && id === "requests" && rest[0] && rest.length === 1)
    return { page: "reading", request: rest[0] };
  if (first === "usage" && id === "groups" && /^\d{1,15}$/.test(rest[0] ?? "") && rest.length === 1)
    return { page: "usage", group: Number(rest[0]), query };
  if (rest.some(Boolean)) return { page: "unknown" };
  if (first === "") return { page: "chat", conversation: null };
  if (first === "c" && id) return { page: "chat", conversation: id };
  if (first === "requests" && id) return { page: "request", request: id };
  if (first === "library" && !id) return { page: "library" };
  if (first === "account" && !id) return { page: "account" };
  if (first === "usage" && id === "reprice" && !rest.some(Boolean)) return { page: "reprice" };
  if (first === "connect" && !id) return { page: "connect" };
  if (first === "bring" && !id) return { page: "bring" };
  if (first === "batches") return id ? { page: "batch", batch: id } : { page: "batches" };
  if (first === "memory" && !id) return { page: "memory" };
  if (first === "recordings" && !id) return { page: "recordings" };
  if (first === "recordings" && /^\d{1,15}$/.test(id)) return { page: "recording", recording: Number(id) };
  if (first === "usage" && !id) return { page: "usage", group: null, query };
  if (first === "learn") return { page: "learn", exhibit: id || null };
  if (first === "compare" && !id) return { page: "compare", ids: idsOf(query) };
  if (first === "race" && !id) return { page: "race", from: new URLSearchParams(query).get("from") };
  if (first === "reruns" && id) return { page: "rerun", rerun: id };
  return { page: "unknown" };
}

/** True if a page shows another address by itself, without being built anew. */
export function keepsPage(from: Route, to: Route): boolean {
  return from.page === to.page && (from.page === "usage" || from.page === "desk");
}

function idsOf(query: string): string[] {
  return (new URLSearchParams(query).get("ids") ?? "").split(",").filter(Boolean);
}

/** The address in this app to which a click leads; null: the browser handles the click. */
export function ownPath(event: MouseEvent): string | null {
  const link = event.target instanceof Element ? event.target.closest("a") : null;
  const hasModifier = event.metaKey || event.ctrlKey || event.shiftKey || event.altKey;
  if (!link || event.defaultPrevented || event.button !== 0 || hasModifier) return null;
  if (link.target || link.hasAttribute("download") || link.origin !== location.origin) return null;
  return routeOf(link.pathname).page === "unknown" ? null : link.pathname + link.search;
}
