/** Every table of keys, in the order of the help sheet, with the pages on which its keys are. */
import { NEARLY_KEYS, READING_KEYS } from "../answer/keys";
import { BORDER_KEYS, CHAT_KEYS, COMPOSER_KEYS, EDIT_KEYS, PREVIEW_KEYS, STEP_KEYS } from "../chat/keys";
import { ALIGNED_KEYS, SIDE_KEYS } from "../runs/compare/keys";
import {
  BATCH_KEYS,
  BLOCK_KEYS,
  CANDIDATE_KEYS,
  HEAD_KEYS,
  INSPECTOR_KEYS,
  JOURNEY_KEYS,
  LANES_KEYS,
  REPLAY_KEYS,
  TAB_KEYS,
  TOKEN_KEYS,
  WALK_KEYS,
} from "../inspector/keys";
import { LANE_KEYS, SEARCH_KEYS, TIMELINE_KEYS } from "../inspector/timeline/keys";
import { SENTENCE_KEYS } from "../learn/keys";
import { CHART_KEYS, MAP_KEYS, STOP_KEYS, WALL_KEYS } from "../charts/keys";
import { LIBRARY_KEYS, NAMING_KEYS, ROW_KEYS, SELECTION_KEYS, TAG_KEYS } from "../library/keys";
import { RACE_KEYS } from "../runs/race/keys";
import { FLOW_KEYS } from "../runs/again/keys";
import { MENU_KEYS, type KeyTable } from "../ui/keys";
import { APP_KEYS, LIST_KEYS } from "./keys";
import type { Route } from "./router";

type Page = Route["page"];

function on(pages: Page[], tables: [title: string, where: string, bindings: KeyTable["bindings"]][]) {
  return tables.map(([title, where, bindings]) => ({ title, where, bindings, pages }));
}

export const SHEET: readonly (KeyTable & { pages: readonly Page[] })[] = [
  ...on(
    [
      "chat",
      "turns",
      "request",
      "reading",
      "library",
      "learn",
      "compare",
      "rerun",
      "race",
      "usage",
      "desk",
      "unknown",
    ],
    [
      ["Everywhere", "on every page", APP_KEYS],
      ["Conversations", "on a conversation in the list", LIST_KEYS],
      ["Editing", "in a conversation's title or a sent message", EDIT_KEYS],
    ],
  ),
  ...on(
    ["chat"],
    [
      ["Message", "in the message field", COMPOSER_KEYS],
      ["What will be sent", "while it is open", PREVIEW_KEYS],
      ["Chat", "with the inspector open", CHAT_KEYS],
      ["Step mode", "on the candidates of the next token", STEP_KEYS],
      ["Width of the inspector", "on its border", BORDER_KEYS],
    ],
  ),
  ...on(
    ["library"],
    [
      ["Traces", "outside text fields", LIBRARY_KEYS],
      ["List of traces", "on a title, a pin or a box for selecting", ROW_KEYS],
      ["Selected traces", "with no dialog open", SELECTION_KEYS],
      ["Tags", "in the field for a new tag", TAG_KEYS],
      ["Views", "in the field for a new name", NAMING_KEYS],
    ],
  ),
  ...on(["chat", "library", "request"], [["Menus", "in an open menu", MENU_KEYS]]),
  ...on(
    ["chat", "request"],
    [
      ["Inspector", "outside text fields", INSPECTOR_KEYS],
      ["Timeline", "with the lanes focused", TIMELINE_KEYS],
      ["Lanes", "on a lane's name", LANE_KEYS],
      ["Height of the timeline", "on its lower edge", LANES_KEYS],
      ["Timeline search", "in the search field", SEARCH_KEYS],
      ["Scene strip", "on its slider of moments", REPLAY_KEYS],
      ["Panels", "on a panel's tab", TAB_KEYS],
      ["Journey", "on its picture", JOURNEY_KEYS],
      ["Words", "on the text of an answer", READING_KEYS],
      ["Words it nearly said", "while they are open", NEARLY_KEYS],
      ["Answer", "on one of its tokens", TOKEN_KEYS],
      ["Tokens", "in the panels that look at one token", WALK_KEYS],
      ["Sampling", "in its panel, of a conversation's answer", CANDIDATE_KEYS],
      ["Attention", "on the map of heads", HEAD_KEYS],
      ["Batch", "on the picture of steps", BATCH_KEYS],
      ["Blocks", "on one of the request's blocks", BLOCK_KEYS],
    ],
  ),
  ...on(
    ["compare"],
    [
      ["Timelines on one axis", "with the timelines focused", ALIGNED_KEYS],
      ["Token by token", "on a token of an answer or a prompt", SIDE_KEYS],
    ],
  ),
  ...on(["rerun"], [["Answers as bands", "on a band", FLOW_KEYS]]),
  ...on(
    ["usage", "desk"],
    [
      ["Charts", "on a bar or a point", CHART_KEYS],
      ["Map of hours", "on the map", MAP_KEYS],
    ],
  ),
  ...on(
    ["desk"],
    [
      ["Stop a request", "on its button", STOP_KEYS],
      ["Wall view", "on the wall view", WALL_KEYS],
    ],
  ),
  ...on(["race"], [["Race", "in the message field", RACE_KEYS]]),
  ...on(["learn"], [["Exhibits", "on the sentences about your own request", SENTENCE_KEYS]]),
];
