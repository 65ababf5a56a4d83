// Heading and sections of a group's pages.

import type { ReactNode } from "react";
import { addressOf, type GroupPage, groupPages } from "../address.ts";
import { useAsk } from "../api.ts";
import { Badge, Copy, Name, Tabs, usePageTitle } from "../parts.tsx";
import { groupAt, type Place } from "../questions.ts";
import { texts } from "../texts/group.ts";

interface GroupHeadingProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly current: GroupPage | "overview";
}

/** Pages that send other requests instead of one for the group's description. */
const frugal: ReadonlySet<string> = new Set([
  "access",
  "audit",
  "decisions",
  "deleted",
  "findings",
  "events",
  "invites",
  "robots",
  "rules",
  "sessions",
  "storage",
  "webhooks",
]);

export const GroupHeading = ({ names, path, current }: GroupHeadingProps): ReactNode => {
  const place = path.at(-1);
  const uid = place?.uid ?? "";
  const name = place?.name || (names.at(-1) ?? "");
  const group = useAsk(groupAt(uid), { onlyKnown: frugal.has(current) }).data?.data;
  usePageTitle(current === "overview" ? name : `${texts[current]} · ${name}`);
  return (
    <>
      <div className="heading">
        <h1 tabIndex={-1}>
          <Name>{name}</Name>
        </h1>
        {group?.verified ? <Badge tone="good">{texts.verified}</Badge> : null}
        {group?.status === "ORG_STATUS_SUSPENDED" ? <Badge tone="warn">{texts.suspended}</Badge> : null}
        <Copy text={uid} what="uid" />
      </div>
      {group?.description ? (
        <p className="lead">
          <Name>{group.description}</Name>
        </p>
      ) : null}
      <Tabs
        label={texts.sections}
        tabs={(["overview", ...groupPages] as const).map((key) => ({
          key,
          title: texts[key],
          href: key === "overview" ? addressOf(names) : addressOf(names, key),
        }))}
        current={current}
      />
    </>
  );
};
