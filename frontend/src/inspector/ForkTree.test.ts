// @vitest-environment jsdom
import { afterEach, expect, it } from "vitest";
import { mount, unmount } from "svelte";
import type { Answer } from "../state/conversation/forking";
import ForkTree from "./ForkTree.svelte";

let tree: object;
afterEach(() => unmount(tree));

it("names how each answer ended that did not end by itself", () => {
  const states = ["done", "stopped", "withheld", "blocked", "failed", "streaming"] as const;
  const answers: Answer[] = states.map((status) => ({
    requestId: status,
    forkedFrom: null,
    position: null,
    numTokens: 3,
    status,
    text: "",
  }));
  tree = mount(ForkTree, { target: document.body, props: { answers, shown: "done", onShow: () => {} } });
  const told = [...document.querySelectorAll("li .number")].map((each) => each.textContent);
  const ends = ["stopped", "withheld", "blocked", "failed", "being written"];
  expect(told).toEqual(["3 in all", ...ends.map((end) => `3 in all · ${end}`)]);
});
