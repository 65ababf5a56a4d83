// What was read of an image, in words: an image without findings is safe only if all of it was read and judged.

import type { ReactNode } from "react";
import type { ContentsProblem, ImageContentsState } from "../../../client/package.ts";
import { shortDigest } from "../format.ts";
import { Badge } from "../parts.tsx";
import { texts } from "../texts/images.ts";

const tones: Readonly<Record<ImageContentsState, "good" | "warn" | "plain">> = {
  IMAGE_CONTENTS_STATE_UNSPECIFIED: "warn",
  IMAGE_CONTENTS_STATE_PENDING: "warn",
  IMAGE_CONTENTS_STATE_INDEXED: "good",
  IMAGE_CONTENTS_STATE_PARTIAL: "warn",
  IMAGE_CONTENTS_STATE_UNSUPPORTED: "warn",
  IMAGE_CONTENTS_STATE_FAILED: "warn",
};

export const StateBadge = ({ state }: { readonly state: ImageContentsState }): ReactNode => (
  <Badge tone={tones[state]}>{texts.contentsStates[state].title}</Badge>
);

const problemText = ({ reason, detail, layer, path }: ContentsProblem): string =>
  [detail || reason, path, layer === "" ? "" : shortDigest(layer)].filter((part) => part !== "").join(" · ");

interface ReadingProps {
  readonly state: ImageContentsState;
  readonly problems: readonly ContentsProblem[];
  readonly problemCount: number;
}

/** Says what was not read, and why; nothing if all layers were read. */
export const Reading = ({ state, problems, problemCount }: ReadingProps): ReactNode => {
  if (state === "IMAGE_CONTENTS_STATE_INDEXED" && problemCount === 0) return null;
  return (
    <div className="notice reading" role="status">
      <p>
        <strong>{texts.contentsStates[state].title}.</strong> {texts.contentsStates[state].text}
      </p>
      {problems.length === 0 ? null : (
        <ul>
          {problems.slice(0, 10).map((problem) => (
            <li key={`${problem.layer} ${problem.path} ${problem.reason}`}>
              <bdi>{problemText(problem)}</bdi> <code>{problem.reason}</code>
            </li>
          ))}
        </ul>
      )}
      {problemCount > Math.min(problems.length, 10) ? <p>{texts.moreProblems(problemCount - Math.min(problems.length, 10))}</p> : null}
    </div>
  );
};
