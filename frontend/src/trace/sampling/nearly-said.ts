/** The likeliest tokens in the place of one that the model wrote, by its own probabilities alone. */
import type { TokenSampled } from "../../protocol/events";

export interface NearlySaid {
  /** Its place among the recorded candidates. */
  index: number;
  id: number;
  piece: string;
  /** The model's own, before any setting. */
  probability: number;
  isChosen: boolean;
}

export interface Nearly {
  /** The likeliest first; the chosen one last where it is none of them. */
  rows: NearlySaid[];
  rest: {
    /** Tokens beyond the rows; null: not recorded. */
    num: number | null;
    /** Their joint probability. */
    probability: number;
  };
}

const NUM_ROWS = 5;
/** Stages that take no token away. */
const KEEPS_ALL = ["logit_bias", "penalties", "dry", "temperature"];

/** Null where no candidates are recorded, as of a server elsewhere. */
export function nearlySaid(token: TokenSampled): Nearly | null {
  const all = token.candidate_ids.flatMap((id, index): NearlySaid[] => {
    const logit = token.candidate_logits[index];
    if (logit == null) return [];
    const probability = Math.exp(logit - (token.log_normalizer ?? 0));
    const piece = token.candidate_pieces[index] ?? "";
    return [{ index, id, piece, probability, isChosen: id === token.id }];
  });
  if (!all.length) return null;
  all.sort((a, b) => b.probability - a.probability);
  const rows = all.filter(({ isChosen }, rank) => rank < NUM_ROWS || isChosen);
  const listed = rows.reduce((sum, { probability }) => sum + probability, 0);
  const numAll = vocabularySize(token);
  return {
    rows,
    rest: {
      num: numAll === null ? null : numAll - rows.length,
      probability: Math.max(0, 1 - listed),
    },
  };
}

/** Known where the first processor says how many tokens it had, and took none away. */
function vocabularySize({ processors }: TokenSampled): number | null {
  const first = processors?.[0];
  return first && KEEPS_ALL.includes(first.name) ? first.num_candidates : null;
}
