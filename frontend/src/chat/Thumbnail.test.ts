// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { flushSync, mount, unmount } from "svelte";
import Thumbnail from "./Thumbnail.svelte";

let thumbnail: object;
afterEach(() => unmount(thumbnail));

it("shows the picture, leads to its bytes, and leaves nothing where they are gone", () => {
  thumbnail = mount(Thumbnail, { target: document.body, props: { sha256: "ab12", name: "cat.png" } });
  const picture = document.querySelector("img")!;
  expect(picture.getAttribute("src")).toBe("/api/pictures/ab12");
  expect(picture.alt).toBe("cat.png");
  expect(document.querySelector("a")!.getAttribute("href")).toBe("/api/pictures/ab12");
  picture.dispatchEvent(new Event("error"));
  flushSync();
  expect(document.querySelector("a, img")).toBeNull();
});
