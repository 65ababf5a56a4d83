// Frame of a group's pages: heading and sections above, requests of the page below.

import type { ReactNode } from "react";
import type { GroupPage } from "../page-names.ts";
import type { Sent } from "../api.ts";
import type { Place } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { GroupHeading } from "./group-heading.tsx";

/** What the page of a group gets from the shell. */
export interface GroupPageProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
}

interface GroupFrameProps extends GroupPageProps {
  readonly current: GroupPage | "overview";
  readonly actions?: ReactNode;
  readonly sent: readonly (Sent | undefined)[];
  readonly children: ReactNode;
}

export const GroupFrame = ({ names, path, current, actions, sent, children }: GroupFrameProps): ReactNode => (
  <>
    <GroupHeading names={names} path={path} current={current} actions={actions} />
    {children}
    <SameRequest sent={sent} />
  </>
);
