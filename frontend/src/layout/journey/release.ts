/** Tokens on their way out: buffered in the worker until the guard's check, then released to the browser as text. */
import type { SafetyChecked, TokenSampled } from "../../protocol/events";
import { decodeBase64, pieceLabel, REDACTED_PIECE, sharedText } from "../../trace/bytes";
import { nameOf } from "../../trace/token-name";
import { count, counted, duration } from "../../trace/format";
import { categoryWords, judged, worstScore } from "../../trace/words/safety-words";
import { verdictWords } from "../../trace/verdicts";
import { numReleased } from "../../trace/journey/scenes";
import { isOver, type TraceView } from "../../trace/view";
import { box, line, part, shifted, text, type Area, type Shape } from "./shapes";
import { fitted, lines, monoWidth, sansWidth } from "./words";

const SIZE = 13;
const PAD = 6;
const GAP = 4;
const CHIP = 22;
const BYTES = 11;
/** Tops of the buffered tokens, the output check and the browser's text, px. */
const HELD_TOP = 22;
const GUARD = 78;
const SENT_TOP = 128;
const SENT_ROW = 26;

export function releaseShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const newest = view.events.at(-1)?.event.type;
  const during = (...types: string[]) => (newest && types.includes(newest) ? beat : 1);
  return [
    ...bufferedShapes(view, area, during("token.sampled"), during("text.withheld")),
    ...scanShapes(view, area, during("safety.checked")),
    ...guardShapes(view, area, during("safety.checked")),
    ...leavingShapes(view, area, during("text.released")),
    ...sentShapes(view, area, during("text.released", "text.withheld")),
  ];
}

const bufferedOf = (view: TraceView): TokenSampled[] => view.tokens.slice(numReleased(view));

function bufferedShapes(view: TraceView, area: Area, arriving: number, withholding: number): Shape[] {
  const buffered = bufferedOf(view);
  const { withheld } = view;
  const waiting = buffered.length && isWaiting(buffered) ? "; a character waits for its last byte" : "";
  const said = withheld
    ? `Withheld: ${counted(withheld.num_tokens, "token")} (${categoryWords(withheld.category)}); they never left the worker`
    : buffered.length
      ? `Held in the worker: ${counted(buffered.length, "token")}${bytesOf(buffered)}${waiting}`
      : "Held in the worker: nothing";
  const shapes: Shape[] = [
    text("buffered-said", area.x, area.y + 12, fitted(said, area.width, 12, sansWidth), {
      ink: withheld ? "danger" : "soft",
    }),
  ];
  if (withheld)
    shapes.push(
      box(
        "withheld",
        {
          x: area.x,
          y: area.y + HELD_TOP,
          width: Math.min(area.width, 34 * withheld.num_tokens),
          height: CHIP,
        },
        { stroke: "danger", fill: "danger", isHatched: true, opacity: part(withholding, 0, 0.5) },
      ),
    );
  else shapes.push(...chipShapes(buffered, area, arriving));
  return shapes;
}

const sizeOf = ({ piece }: TokenSampled): string =>
  piece === REDACTED_PIECE ? "" : `${decodeBase64(piece).length} B`;

/** The number of bytes in words; empty when tokens are redacted, since it is then not known. */
function bytesOf(buffered: TokenSampled[]): string {
  if (buffered.some(({ piece }) => piece === REDACTED_PIECE)) return "";
  return `, ${counted(
    buffered.reduce((sum, { piece }) => sum + decodeBase64(piece).length, 0),
    "byte",
  )}`;
}

/** True when the last of these tokens ends within a character. */
function isWaiting(buffered: TokenSampled[]): boolean {
  const last = buffered.at(-1)!;
  return (
    pieceLabel(last.piece).startsWith("‹") && sharedText(buffered.map(({ piece }) => piece)).at(-1) === null
  );
}

/** As many tokens as have room, the newest at the right. It falls in from the draw above. */
function chipShapes(tokens: TokenSampled[], area: Area, arriving: number): Shape[] {
  const shared = sharedText(tokens.map(({ piece }) => piece));
  const chips = placed(tokens, area);
  const hidden = tokens.length - chips.length;
  const y = area.y + HELD_TOP;
  const more = hidden
    ? [text("buffered-more", area.x, y + 15, `+${count(hidden)}`, { font: "mono", size: 11, ink: "faint" })]
    : [];
  return [
    ...more,
    ...chips.flatMap(({ token, label, x, width, index }) => {
      const isPart = label.startsWith("‹");
      const whole = shared[index];
      const shapes: Shape[] = [
        box(
          `buffered-${token.position}`,
          { x, y, width, height: CHIP },
          {
            fill: "release-pale",
            stroke: isPart ? "release" : undefined,
            isDashed: isPart && !whole,
            radius: 3,
          },
        ),
        text(`buffered-piece-${token.position}`, x + PAD, y + 15, label, {
          font: "mono",
          size: SIZE,
          ink: token.is_special ? "soft" : "ink",
        }),
        text(
          `buffered-bytes-${token.position}`,
          x + PAD,
          y + CHIP + 11,
          isPart ? (whole ?? "waits") : sizeOf(token),
          {
            font: "mono",
            size: BYTES,
            ink: "faint",
          },
        ),
      ];
      return index === tokens.length - 1
        ? shifted(shapes, 0, -18 * (1 - part(arriving, 0.9, 1)), part(arriving, 0.88, 1))
        : shapes;
    }),
  ];
}

function placed(tokens: TokenSampled[], area: Area) {
  const room = area.width - 34;
  const found: { token: TokenSampled; label: string; x: number; width: number; index: number }[] = [];
  let used = 0;
  for (let index = tokens.length - 1; index >= 0; index--) {
    const token = tokens[index]!;
    const label = fitted(nameOf(token), room - 2 * PAD, SIZE);
    const width = Math.max(monoWidth(label, SIZE), 14) + 2 * PAD;
    if (used + width > room) break;
    found.unshift({ token, label, x: used, width, index });
    used += width + GAP;
  }
  return found.map((chip) => ({
    ...chip,
    x: area.x + 34 + (used - chip.x - chip.width - GAP) - (found.length === tokens.length ? 34 : 0),
  }));
}

const lastCheck = ({ outputChecks }: TraceView): SafetyChecked | null => outputChecks.at(-1) ?? null;

/** The guard's scan of the buffered tokens. */
function scanShapes({ events }: TraceView, area: Area, beat: number): Shape[] {
  if (events.at(-1)?.event.type !== "safety.checked" || beat >= 1) return [];
  const x = area.x + area.width * part(beat, 0, 0.7);
  return [
    line("scan", [x, area.y + HELD_TOP - 4, x, area.y + HELD_TOP + CHIP + 4], {
      ink: "release",
      width: 2,
      opacity: 1 - part(beat, 0.7, 1),
    }),
  ];
}

function guardShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const y = area.y + GUARD;
  const check = lastCheck(view);
  const ends: [number, number, number, number] = [area.x, y, area.x + area.width, y];
  if (!check) {
    const said = isOver(view)
      ? "No output check is recorded."
      : "The output check has not read the answer yet.";
    return [
      line("guard", ends, { ink: "release", width: 1.5 }),
      text("guard-said", area.x, y + 18, fitted(said, area.width, 12, sansWidth), { ink: "soft" }),
    ];
  }
  const worst = worstScore(check);
  const score = worst && check.verdict !== "allow" ? `, ${judged(worst)}` : "";
  const words = `Output check: ${verdictWords(check.verdict)}${score} · ${duration(check.duration_us)}, held ${duration(check.buffered_us)}`;
  const isAllowed = check.verdict === "allow";
  return [
    line("guard", ends, { ink: check.verdict === "block" ? "danger" : "release", width: 1.5 }),
    ...lines(words, area.width, 12, 2).map((each, index) =>
      text(`guard-said-${index}`, area.x, y + 18 + index * 16, each, {
        ink: isAllowed ? "soft" : "danger",
        opacity: part(beat, 0.4, 0.9),
      }),
    ),
  ];
}

/** Tokens that were just released fall past the guard. */
function leavingShapes({ releases, tokens }: TraceView, area: Area, beat: number): Shape[] {
  if (beat >= 0.7) return [];
  const [before, now] = [releases.at(-2)?.num_tokens ?? 0, releases.at(-1)?.num_tokens ?? 0];
  const fallen = part(beat, 0, 0.7);
  const shapes = shifted(
    chipShapes(tokens.slice(before, now), area, 1),
    0,
    (SENT_TOP - HELD_TOP) * fallen,
    1 - fallen,
  );
  return shapes.map((shape) => ({ ...shape, key: `leaving-${shape.key}` }));
}

/** The browser's text, release by release; the newest is marked. */
function sentShapes(view: TraceView, area: Area, beat: number): Shape[] {
  const { releases, withheld, forked } = view;
  const top = area.y + SENT_TOP;
  const numRows = Math.max(1, Math.floor((area.height - SENT_TOP - 18) / SENT_ROW));
  const texts = releases.map((release, index) => ({
    key: `sent-${index}`,
    words: release.text,
    isNotice: false,
  }));
  // A fork begins with the text that it took over.
  if (forked?.text) texts.unshift({ key: "sent-before", words: forked.text, isNotice: false });
  if (withheld) texts.push({ key: "sent-instead", words: withheld.replacement, isNotice: true });
  const said = releases.length
    ? `At the browser: ${counted(numReleased(view), "token")} in ${counted(releases.length, "release")}`
    : "At the browser: nothing yet";
  return [
    text("sent-said", area.x, top + 10, fitted(said, area.width, 12, sansWidth), { ink: "soft" }),
    ...flow(texts, area.width, numRows).flatMap(({ key, words, isNotice, x, row, width, isNewest }) => {
      const y = top + 20 + row * SENT_ROW;
      const opacity = isNewest ? part(beat, 0.3, 1) : 1;
      return [
        box(
          `${key}-ground`,
          { x: area.x + x, y, width, height: CHIP },
          {
            fill: isNewest ? "browser-pale" : undefined,
            stroke: isNotice ? "danger" : isNewest ? "browser" : "line",
            radius: 3,
            opacity,
          },
        ),
        text(`${key}-words`, area.x + x + PAD, y + 15, words, {
          font: "mono",
          size: 12,
          ink: isNotice ? "danger" : "ink",
          opacity,
        }),
      ];
    }),
  ];
}

interface Sent {
  key: string;
  words: string;
  isNotice: boolean;
}

/** The last texts that have room, in rows from left to right. */
function flow(texts: Sent[], width: number, numRows: number) {
  const measured = texts.slice(-60).map((each) => {
    const words = fitted(each.words.replaceAll("\n", "↵"), width - 2 * PAD, 12);
    return { ...each, words, width: Math.min(width, monoWidth(words, 12) + 2 * PAD) };
  });
  for (let first = 0; first < measured.length; first++) {
    let [x, row] = [0, 0];
    const found = measured.slice(first).map((each) => {
      if (x > 0 && x + each.width > width) [x, row] = [0, row + 1];
      const item = { ...each, x, row, isNewest: each === measured.at(-1) && each.key !== "sent-before" };
      x += each.width + GAP;
      return item;
    });
    if (row < numRows || first === measured.length - 1) return found;
  }
  return [];
}
