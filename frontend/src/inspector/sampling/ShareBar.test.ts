// @vitest-environment jsdom
import { mount, unmount } from "svelte";
import { expect, it } from "vitest";
import { token } from "../../trace/fixtures";
import { emptyView } from "../../trace/view";
import ShareBar from "./ShareBar.svelte";

/** A drawn token between many thin slices: a gap beside each of them would push it to the right. */
const ids = Array.from({ length: 20 }, (_, id) => id);
const SHARES = ids.map((id) => (id === 12 ? 0.1 : 0.02));
const drawn = { ...token(0, 1), id: 12, u: 0.245, low: 0.24, high: 0.34 };
const TOKEN = { ...drawn, candidate_ids: ids, candidate_pieces: ids.map(() => btoa("x")) };

it("puts the mark of the draw onto the slice of the token that it fell on", () => {
  const bar = mount(ShareBar, {
    target: document.body,
    props: { view: emptyView(), token: TOKEN, shares: SHARES, label: "the draw is 0.245" },
  });
  const slice = document.querySelector<HTMLElement>(".drawn")!;
  const [left, width] = [parseFloat(slice.style.left), parseFloat(slice.style.width)];
  const mark = parseFloat(document.querySelector<HTMLElement>(".draw i")!.style.left);
  expect([left, width]).toEqual([expect.closeTo(24, 6), expect.closeTo(10, 6)]);
  expect(mark).toBeGreaterThanOrEqual(left);
  expect(mark).toBeLessThan(left + width);
  void unmount(bar);
});
