// How much of a request the catalog has, and the state of the request.

import type { ReactNode } from "react";
import type { RequestGroup, RequestGroupStatus } from "../../../client/package.ts";
import { shortUid } from "../format.ts";
import { Badge } from "../parts.tsx";
import { texts } from "../texts/libraries.ts";

/** The name of a request; without one, that of its file, or a part of its uid. */
export const titleOf = ({ uid, name, input }: RequestGroup): string => name || input?.filename || shortUid(uid.slice(uid.lastIndexOf("/") + 1));

/** Items that count: without removed ones. */
export const itemCountOf = ({ input, availabilitySummary }: RequestGroup): number => (input?.itemCount ?? 0) - (availabilitySummary?.removed ?? 0);

interface ShareProps {
  readonly built: number;
  readonly all: number;
}

/** A share as a bar and as numbers. */
export const Share = ({ built, all }: ShareProps): ReactNode => (
  <span className="quota">
    {all === 0 ? null : <meter min={0} max={all} value={built} aria-label={texts.inCatalog} />}
    <span>{texts.covered(built, all)}</span>
  </span>
);

export const Coverage = ({ request }: { readonly request: RequestGroup }): ReactNode => (
  <Share built={request.availabilitySummary?.built ?? 0} all={itemCountOf(request)} />
);

const isBad = (status: RequestGroupStatus): boolean =>
  status === "REQUEST_GROUP_STATUS_FAILED" || status === "REQUEST_GROUP_STATUS_CANCELED" || status === "REQUEST_GROUP_STATUS_EXPIRED";

export const State = ({ status }: Pick<RequestGroup, "status">): ReactNode => (
  <Badge tone={status === "REQUEST_GROUP_STATUS_COMPLETED" ? "good" : isBad(status) ? "warn" : "plain"}>{texts.statuses[status]}</Badge>
);
