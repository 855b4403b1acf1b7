import { describe, expect, it } from "vitest";
import type { AnyEvent } from "../protocol/events";
import { pieceLabel } from "./bytes";
import { ACCEPTED, chosen, foldAll, logSumExp, PARAMS, RELEASED, processor, token } from "./fixtures";
import { intervalTable } from "./timing/intervals";
import { columns, finalProbabilities } from "./sampling/probability";
import { story, tokensPerSecond } from "./words/sentences";
import { summaryOfTrace } from "./words/summary";
import { answerPieces, emptyView, textBefore } from "./view";
import { criticalPath } from "./timing/waits";

describe("probability", () => {
  it("gives columns that sum to one and a final column without the removed", () => {
    const table = columns(token(0, 0), PARAMS);
    expect(table.map((column) => column.name)).toEqual(["model", "temperature", "top_k"]);
    for (const column of table) {
      const sum = column.probabilities.reduce<number>((total, p) => total + (p ?? 0), column.others);
      expect(sum).toBeCloseTo(1, 10);
    }
    const final = finalProbabilities(token(0, 0), PARAMS)!;
    expect(final[2]).toBeNull();
    expect(final[0]! + final[1]!).toBeCloseTo(1, 10);
  });

  it("gives a masked token its place in the model's own distribution and none after", () => {
    const drawn = {
      ...token(0, 0),
      id: 11,
      candidate_ids: [11, 12, 10],
      candidate_logits: [1, 0, 2],
      processors: [processor("grammar", 3, 0.36, logSumExp([1, 0, -1]), { masked: [10] })],
    };
    const [model, grammar] = columns(drawn, { ...PARAMS, temperature: 1 });
    expect(model!.probabilities[2]).toBeCloseTo(Math.exp(2 - logSumExp([2, 1, 0, -1])), 10);
    expect(grammar!.probabilities[2]).toBeNull();
    expect(grammar!.probabilities[0]! + grammar!.probabilities[1]! + grammar!.others).toBeCloseTo(1, 10);
  });

  it("takes what a stage did to the logits, and leaves only the run that typical-p keeps", () => {
    const penalised = [1.5, 1, -2];
    const drawn = {
      ...token(0, 0),
      id: 11,
      processors: [
        processor("penalties", 4, 1, logSumExp([...penalised, -3]), { logits: penalised }),
        processor("typical_p", 2, 0.4, logSumExp([1, -2]), { first: 1 }),
      ],
    };
    const table = columns(drawn, { ...PARAMS, temperature: 1 });
    expect(table[1]!.probabilities[0]).toBeCloseTo(Math.exp(1.5 - logSumExp([...penalised, -3])), 10);
    expect(table[2]!.probabilities[0]).toBeNull();
    expect(table[2]!.probabilities[1]! + table[2]!.probabilities[2]!).toBeCloseTo(1, 10);
  });

  it("keeps the chosen token in every column though its place is beyond the recorded", () => {
    const drawn = { ...token(0, 0), id: 12, processors: [processor("top_k", 2, 0.98, logSumExp([2, 0]))] };
    expect(finalProbabilities(drawn, PARAMS)![2]).toBeCloseTo(Math.exp(0 - logSumExp([2, 0])), 10);
  });

  it("puts all on the chosen token when greedy", () => {
    const greedy = { ...token(0, 0), u: null, processors: [] };
    expect(finalProbabilities(greedy, { ...PARAMS, temperature: 0 })).toEqual([1, null, null]);
  });
});

describe("fold", () => {
  it("collects text and tokens and keeps every event", () => {
    const view = foldAll([
      token(0, 100),
      { type: "text.released", generation: 0, at: 110, text: "Par", num_tokens: 1 },
      token(1, 120),
      { type: "text.released", generation: 0, at: 130, text: "is", num_tokens: 2 },
    ]);
    expect(view.text).toBe("Paris");
    expect(view.tokens.map((each) => each.position)).toEqual([0, 1]);
    expect(view.events.map((each) => each.seq)).toEqual([1, 2, 3, 4]);
    expect(view.at).toBe(130);
  });
});

describe("intervalTable", () => {
  it("is complete: intervals do not overlap and with the rest make up the total", () => {
    const accepted = {
      type: "request.accepted",
      at: 0,
      received_at: -2000,
      accepted_unix_us: 1_000_000,
      params: PARAMS,
      client: {
        keydown_unix_us: 990_000,
        sent_unix_us: 995_000,
        last_paint_unix_us: 1_400_000,
        first_paint_unix_us: 1_150_000,
        clock_offset_us: 0,
      },
    } as unknown as AnyEvent;
    const view = foldAll([
      accepted,
      { type: "gateway.checked", at: 1000, principal: "user:1", limits: [], duration_us: 3000 },
      token(0, 100_000),
      { type: "text.released", generation: 0, at: 110_000, text: "a", num_tokens: 1 },
      token(1, 300_000),
      { type: "text.released", generation: 0, at: 310_000, text: "b", num_tokens: 2 },
    ]);
    const table = intervalTable(view);
    const sum = table.intervals.reduce((total, interval) => total + interval.end - interval.start, 0);
    expect(sum + table.unexplained).toBe(table.end - table.start);
    expect(table.start).toBe(-10_000);
    expect(table.end).toBe(400_000);
    for (const [index, interval] of table.intervals.entries())
      expect(interval.start).toBeGreaterThanOrEqual(table.intervals[index - 1]?.end ?? table.start);
  });

  it.each([
    ["assembly and tokenizer", 40_000, ["Context assembly", "Tokenization"]],
    ["the check", 12_000, ["Safety check of the message"]],
  ])("tells %s apart when the other took longer beside it", (_, checkedAt, beside) => {
    const packed = { window: 100, segments: [], dropped: [], duration_us: 10_000, at: 20_000 };
    const view = foldAll([
      ACCEPTED,
      { type: "gateway.checked", at: 1000, principal: "user:1", limits: [], duration_us: 3000 },
      {
        type: "safety.checked",
        generation: 0,
        layer: "input",
        at: checkedAt,
        duration_us: checkedAt - 5000,
        scores: [],
      },
      { type: "context.assembled", generation: 0, ...packed },
      {
        type: "prompt.tokenized",
        generation: 0,
        at: 22_000,
        duration_us: 2000,
        ids: [],
        pieces: [],
        special: [],
      },
      { type: "generation.queued", generation: 0, at: 50_000, attempt: 1, queue_depth: 0 },
    ] as unknown as AnyEvent[]);
    const table = intervalTable(view);
    expect(table.intervals.filter((interval) => interval.isBeside).map(({ label }) => label)).toEqual(beside);
    const path = table.intervals.filter((interval) => !interval.isBeside);
    for (const [index, interval] of path.entries())
      expect(interval.start).toBeGreaterThanOrEqual(path[index - 1]?.end ?? table.start);
    const sum = path.reduce((total, interval) => total + interval.end - interval.start, 0);
    expect(sum + table.unexplained).toBe(table.end - table.start);
  });

  it.each([
    [
      "longer than the request is saved",
      40_000,
      ["Saving the request", "Context assembly", "Tokenization"],
      5000,
    ],
    ["no longer", 25_000, ["Safety check of the message", "Context assembly", "Tokenization"], 30_000],
  ])(
    "shows a preparation whole that began before the request was saved and took %s",
    (_, checkedAt, parallel, gateway) => {
      const packed = { window: 100, segments: [], dropped: [], duration_us: 10_000, at: 16_000 };
      const view = foldAll([
        ACCEPTED,
        { type: "gateway.checked", at: 30_000, principal: "user:1", limits: [], duration_us: 30_000 },
        {
          type: "safety.checked",
          generation: 0,
          layer: "input",
          at: checkedAt,
          duration_us: checkedAt - 5000,
          scores: [],
        },
        { type: "context.assembled", generation: 0, ...packed },
        {
          type: "prompt.tokenized",
          generation: 0,
          at: 18_000,
          duration_us: 2000,
          ids: [],
          pieces: [],
          special: [],
        },
        { type: "generation.queued", generation: 0, at: 50_000, attempt: 1, queue_depth: 0 },
      ] as unknown as AnyEvent[]);
      const table = intervalTable(view);
      const check = table.intervals.find(({ label }) => label === "Safety check of the message")!;
      expect([check.start, check.end]).toEqual([5000, checkedAt]);
      expect(table.intervals.find(({ label }) => label.startsWith("Gateway:"))!.end).toBe(gateway);
      const beside = table.intervals.filter((interval) => interval.isBeside).map(({ label }) => label);
      expect(beside.sort()).toEqual([...parallel].sort());
      const path = table.intervals.filter((interval) => !interval.isBeside);
      for (const [index, interval] of path.entries())
        expect(interval.start).toBeGreaterThanOrEqual(path[index - 1]?.end ?? table.start);
      const sum = path.reduce((total, interval) => total + interval.spent, 0);
      expect(sum + table.unexplained).toBe(table.end - table.start);
    },
  );

  it("counts a person's thinking as a interval of its own, in no other and in no speed", () => {
    const view = foldAll([
      ACCEPTED,
      { type: "generation.queued", generation: 0, at: 5000, attempt: 1, queue_depth: 0 },
      { type: "prefill.advanced", generation: 0, at: 60_000, step_us: 50_000 } as unknown as AnyEvent,
      ...chosen(0, 70_000, 39_000_000),
      { type: "text.released", generation: 0, at: 39_071_000, text: "a", num_tokens: 1 },
      ...chosen(1, 39_120_000, 2_000_000),
      ...chosen(2, 41_170_000, 1_000_000),
    ]);
    const table = intervalTable(view);
    const spent = (label: string) => table.intervals.find((interval) => interval.label === label)?.spent;
    expect(spent("Prefill to the first token")).toBe(60_000);
    expect(spent("Waited for your choice")).toBe(42_000_000);
    expect(spent("Decode of the rest")).toBe(99_000);
    const sum = table.intervals.reduce((total, interval) => total + interval.spent, 0);
    expect(sum + table.unexplained).toBe(table.end - table.start);
    const path = criticalPath(view);
    for (const [index, part] of path.entries()) expect(part.start).toBe(path[index - 1]?.end ?? table.start);
    expect(path.at(-1)!.end).toBe(table.end);
    expect(tokensPerSecond(view)).toBeCloseTo(2 / 0.1);
    expect(summaryOfTrace(view).figures).toEqual([
      "3 tokens",
      "0.07\u00a0s to first text",
      "20 tokens/s",
      "waited 42.00\u00a0s for your choice",
    ]);
  });

  it("copes with a trace that has nothing yet", () => {
    expect(intervalTable(emptyView())).toEqual({ start: 0, end: 0, intervals: [], unexplained: 0 });
  });
});

describe("pieceLabel", () => {
  it("shows spaces and line ends, and half characters as hex", () => {
    expect(pieceLabel(btoa(" the\n"))).toBe("·the↵");
    expect(pieceLabel(btoa("\xe2\x82"))).toBe("‹E2›‹82›");
  });
});

it("shows what a fork kept as kept: text and positions go on after it, and no token is made up", () => {
  const forked: AnyEvent = {
    type: "generation.forked",
    generation: 0,
    at: 90_000,
    from_request_id: "req_b",
    position: 1,
    ids: [7, 8],
    pieces: [btoa("On"), btoa("ce")],
    text: "Once",
    thinking: "",
    from_generation: 0,
    rounds: [],
  };
  const view = foldAll([ACCEPTED, forked, token(2, 100_000), RELEASED]);
  expect(view.text).toBe("Once a a");
  expect(view.tokens).toHaveLength(1);
  expect(answerPieces(view).map(({ position }) => position)).toEqual([0, 1, 2]);
  expect([textBefore(view, 1), textBefore(view, 3)]).toEqual(["On", "Once a"]);
  expect(story(view)).toContain("after 1 token kept from another answer and 1 that a person chose or wrote");
});
