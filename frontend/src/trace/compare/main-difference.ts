/** One sentence on the main difference between several requests. */
import { contextDiff, segmentName } from "./context-diff";
import { commonStart } from "./diff";
import { answersAlike, chanceOf, divergence, idsOf } from "./divergence";
import { endText } from "./figures";
import { count, counted, duration, percent } from "../format";
import { outcomeOf } from "../outcome";
import { END_OF_TURN, pieceLabel } from "../bytes";
import { differingSettings, settingWord, shortText, type SettingName } from "../words/setting-names";
import { isOneVocabulary } from "./vocabulary";
import { firstTextUs, isOver, type TraceView } from "../view";

/** Names of the columns: A, B, C … */
export function nameOf(index: number): string {
  return String.fromCharCode(65 + index);
}

export function mainDifference(views: TraceView[]): string {
  if (views.length === 2) return ofTwo(views[0]!, views[1]!, ["A", "B"]);
  return ofMany(views);
}

/** Two requests: the failure, else the place where they part, else the difference in time. */
export function ofTwo(a: TraceView, b: TraceView, names: [string, string]): string {
  if (!isOver(a) || !isOver(b))
    return `${isOver(a) ? names[1] : names[0]} is still running: these results may change.`;
  const bad = [a, b].map((view) => ["failed", "blocked"].includes(outcomeOf(view)));
  if (bad[0] !== bad[1]) {
    const wrong = bad[0] ? 0 : 1;
    return `${names[wrong]} has no whole answer (${endText([a, b][wrong]!)}), ${names[1 - wrong]} has one.`;
  }
  const answer = answerPart(a, b, names);
  const first = firstTextPart(a, b, names);
  return `${capital(causePart(a, b, names))}: ${answer}${first ? `; ${first}` : ""}.`;
}

/** The differences between the requests themselves. */
function causePart(a: TraceView, b: TraceView, names: [string, string]): string {
  const [inA, inB] = [a, b].map(({ accepted }) => accepted?.model);
  const rest = promptPart(a, b, names);
  return inA === inB ? rest : `model ${inA} in ${names[0]} and ${inB} in ${names[1]}; ${rest}`;
}

function promptPart(a: TraceView, b: TraceView, names: [string, string]): string {
  const context = contextDiff(a, b);
  if (context === null) return "the prompts are not recorded";
  if (!context.isSame) {
    if (!isOneVocabulary([a, b])) return "the prompts are of different tokenizers";
    const inBoth = segmentName(context.b ?? context.a);
    return `the prompts differ after ${counted(context.numCommon, "token")}, in ${inBoth}`;
  }
  const settings = differingSettings([a.accepted!.params, b.accepted!.params]);
  const forks = forksPart([a, b], names);
  if (!settings.length) return `the same prompt, settings and seed${forks}`;
  if (settings.length === 1 && settings[0] === "seed")
    return `the same prompt and settings, another seed${forks}`;
  const [name, ...others] = settings.filter((each) => each !== "seed") as [SettingName, ...SettingName[]];
  const [inA, inB] = [a, b].map((view) => shortText(name, view.accepted!.params[name]));
  const also = others.map(settingWord);
  const more = also.length ? ` (${also.join(", ")} too)` : "";
  return `the same prompt, ${settingWord(name)} ${inA} in ${names[0]} and ${inB} in ${names[1]}${more}${forks}`;
}

/** The requests that go on from tokens that a person chose or wrote. */
function forksPart(views: TraceView[], names: string[]): string {
  const found = views.flatMap(({ forked }, index) =>
    forked ? `${names[index]} a fork at token ${count(forked.position + 1)}` : [],
  );
  return found.length ? `, ${found.join(" and ")}` : "";
}

function answerPart(a: TraceView, b: TraceView, names: [string, string]): string {
  const parting = divergence(a, b);
  const [idsOfA, idsOfB] = [idsOf(a), idsOf(b)];
  if (!idsOfA.length && !idsOfB.length) return "neither request has an answer";
  if (!parting) return `the answers are the same ${counted(idsOfA.length, "token")}`;
  const { index } = parting;
  if (!parting.a || !parting.b) {
    const [short, long] = parting.a ? [1, 0] : [0, 1];
    const longer = [idsOfA, idsOfB][long]!.length;
    return `the answers are the same for ${counted(index, "token")}, where ${names[short]} ends and ${names[long]} continues to ${count(longer)}`;
  }
  const said = [parting.a, parting.b].map((token, side) => {
    const said = token.isSpecial ? `the ${END_OF_TURN}` : `“${pieceLabel(token.piece)}”`;
    if (!token.sampled) return `${names[side]} got ${said} from a person`;
    const { drawn, model } = chanceOf({ token: token.sampled, view: [a, b][side]! }, token.id);
    const chance = drawn ?? model;
    return `${names[side]} wrote ${said}${chance === null ? "" : ` (${percent(chance)})`}`;
  });
  return `the answers differ from token ${count(index + 1)} on, where ${said.join(" and ")}`;
}

const NOTABLE = 1.25;

function firstTextPart(a: TraceView, b: TraceView, names: [string, string]): string {
  const [at, other] = [firstTextUs(a), firstTextUs(b)];
  if (!at || !other) return "";
  const ratio = other / at;
  if (ratio < NOTABLE && ratio > 1 / NOTABLE) return "";
  const [late, early] = ratio > 1 ? [1, 0] : [0, 1];
  const times = [at, other];
  return `${names[late]}'s first text took ${duration(times[late]!)}, ${names[early]}'s ${duration(times[early]!)}`;
}

/** More than two: which answers are the same. */
function ofMany(views: TraceView[]): string {
  const numRunning = views.filter((view) => !isOver(view)).length;
  if (numRunning)
    return `${counted(numRunning, "request")} of ${views.length} still running: these results may change.`;
  const groups = new Map<string, number[]>();
  const answers = answersAlike(views);
  views.forEach((_, index) => {
    const key = answers[index]!.join(" ");
    groups.set(key, [...(groups.get(key) ?? []), index]);
  });
  if (groups.size === 1)
    return `All ${views.length} answers are the same ${counted(idsOf(views[0]!).length, "token")}.`;
  const shared = Math.min(...answers.map((answer) => commonStart(answers[0]!, answer)));
  const told = [...groups.values()]
    .filter((group) => group.length > 1)
    .map((group) => `${group.map(nameOf).join(", ")} are the same`);
  const same = told.length ? ` (${told.join("; ")})` : "";
  const where = shared
    ? `all begin with the same ${shared === 1 ? "token" : `${count(shared)} tokens`}`
    : "they differ from the first token on";
  return `${views.length} requests, ${groups.size} different answers${same}: ${where}.`;
}

function capital(text: string): string {
  return text[0]!.toUpperCase() + text.slice(1);
}
