// @vitest-environment jsdom
import { expect, it } from "vitest";
import { deskPageAt } from "../desk/pages";
import { keepsPage, ownPath, routeOf } from "./router";

const USAGE = deskPageAt("/admin/")!.page;

it.each([
  ["/", { page: "chat", conversation: null }],
  ["/c/conv_1", { page: "chat", conversation: "conv_1" }],
  ["/c/conv_1/", { page: "chat", conversation: "conv_1" }],
  ["/c/conv_1/turns", { page: "turns", conversation: "conv_1" }],
  ["/c/conv_1/turns/more", { page: "unknown" }],
  ["/requests/req_1", { page: "request", request: "req_1" }],
  ["/library", { page: "library" }],
  ["/learn", { page: "learn", exhibit: null }],
  ["/learn/cache", { page: "learn", exhibit: "cache" }],
  ["/compare", { page: "compare", ids: [] }],
  ["/compare?ids=req_1,req_2", { page: "compare", ids: ["req_1", "req_2"] }],
  ["/compare/req_1", { page: "unknown" }],
  ["/race", { page: "race", from: null }],
  ["/race?from=req_1", { page: "race", from: "req_1" }],
  ["/race/req_1", { page: "unknown" }],
  ["/reruns/rerun_1", { page: "rerun", rerun: "rerun_1" }],
  ["/requests/req_1/events", { page: "unknown" }],
  ["/c/", { page: "unknown" }],
  ["/admin/requests/req_1", { page: "reading", request: "req_1" }],
  ["/admin/requests/", { page: "unknown" }],
  ["/admin/usage/", { page: "unknown" }],
  ["/admin/", { page: "desk", entry: USAGE, rest: "", query: "" }],
  ["/admin/?period=7&by=user", { page: "desk", entry: USAGE, rest: "", query: "period=7&by=user" }],
  ["/admin/wall/", { page: "wall" }],
  ["/admin/tables/", { page: "unknown" }],
  ["/admin", { page: "unknown" }],
  ["/batches", { page: "batches" }],
  ["/batches/batch_1", { page: "batch", batch: "batch_1" }],
  ["/batches/batch_1/lines", { page: "unknown" }],
  ["/account", { page: "account" }],
  ["/account/sign-ins", { page: "unknown" }],
  ["/usage?period=7", { page: "usage", group: null, query: "period=7" }],
  ["/usage/7", { page: "unknown" }],
  ["/usage/groups/7?by=user", { page: "usage", group: 7, query: "by=user" }],
  ["/usage/groups/x", { page: "unknown" }],
])("knows %s", (path, route) => expect(routeOf(path)).toEqual(route));

it("keeps the page between two addresses of one desk, and of no other page", () => {
  const keeps = (from: string, to: string) => keepsPage(routeOf(from), routeOf(to));
  expect(keeps("/admin/", "/admin/?period=7")).toBe(true);
  expect(keeps("/usage?by=status", "/usage")).toBe(true);
  expect(keeps("/admin/", "/usage")).toBe(false);
  expect(keeps("/library", "/library?q=a")).toBe(false);
});

function click(html: string, init: MouseEventInit = {}): string | null {
  document.body.innerHTML = html;
  let path: string | null = null;
  const listen = (event: MouseEvent) => {
    path = ownPath(event);
    event.preventDefault();
  };
  document.body.addEventListener("click", listen);
  document
    .querySelector("a")!
    .dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ...init }));
  document.body.removeEventListener("click", listen);
  return path;
}

it("takes over plain clicks on pages of ours and no others", () => {
  expect(click('<a href="/library">x</a>')).toBe("/library");
  expect(click('<a href="/compare?ids=a,b">x</a>')).toBe("/compare?ids=a,b");
  expect(click('<a href="/library?status=failed">x</a>')).toBe("/library?status=failed");
  expect(click('<a href="/library">x</a>', { ctrlKey: true })).toBeNull();
  expect(click('<a href="/library">x</a>', { button: 1 })).toBeNull();
  expect(click('<a href="/library" target="_blank">x</a>')).toBeNull();
  expect(click('<a href="/api/requests/req_1/export" download>x</a>')).toBeNull();
  expect(click('<a href="https://example.com/library">x</a>')).toBeNull();
  expect(click('<a href="/admin/?period=7">x</a>')).toBe("/admin/?period=7");
  expect(click('<a href="/admin/tables/">x</a>')).toBeNull();
});
