/** Every table of keys, in the order of the help sheet. */
import { BORDER_KEYS, CHAT_KEYS, COMPOSER_KEYS, EDIT_KEYS, STEP_KEYS } from "../chat/keys";
import {
  CANDIDATE_KEYS,
  HEAD_KEYS,
  INSPECTOR_KEYS,
  JOURNEY_KEYS,
  REPLAY_KEYS,
  TAB_KEYS,
  TOKEN_KEYS,
  WALK_KEYS,
} from "../inspector/keys";
import { SEARCH_KEYS, TIMELINE_KEYS } from "../inspector/timeline/keys";
import { SENTENCE_KEYS } from "../learn/keys";
import type { KeyTable } from "../ui/keys";
import { APP_KEYS } from "./keys";

export const SHEET: readonly KeyTable[] = [
  { title: "Everywhere", where: "on every page", bindings: APP_KEYS },
  { title: "Message", where: "in the field in which a message is written", bindings: COMPOSER_KEYS },
  { title: "Chat", where: "beside the inspector", bindings: CHAT_KEYS },
  { title: "Step mode", where: "on the candidates of the next token", bindings: STEP_KEYS },
  { title: "Editing", where: "in a conversation's title or a sent message", bindings: EDIT_KEYS },
  { title: "Inspector", where: "wherever nothing is written", bindings: INSPECTOR_KEYS },
  { title: "Timeline", where: "with the lanes focused", bindings: TIMELINE_KEYS },
  { title: "Timeline search", where: "in its field", bindings: SEARCH_KEYS },
  { title: "Replay", where: "on the slider of moments", bindings: REPLAY_KEYS },
  { title: "Panels", where: "on a panel's tab", bindings: TAB_KEYS },
  { title: "Journey", where: "on its picture", bindings: JOURNEY_KEYS },
  { title: "Answer", where: "on one of its tokens", bindings: TOKEN_KEYS },
  { title: "Tokens", where: "in the panels that look at one token", bindings: WALK_KEYS },
  { title: "Sampling", where: "in its panel, of a conversation's answer", bindings: CANDIDATE_KEYS },
  { title: "Attention", where: "on the map of heads", bindings: HEAD_KEYS },
  { title: "Exhibits", where: "on the sentences about your own request", bindings: SENTENCE_KEYS },
  { title: "Width of the inspector", where: "on its border", bindings: BORDER_KEYS },
];
