// Heading and sections of a group's pages.

import type { ReactNode } from "react";
import type { Group } from "../../../client/package.ts";
import { addressOf } from "../address.ts";
import { type GroupPage, groupPages } from "../page-names.ts";
import { useAsk } from "../api.ts";
import { Badge, Copy, Name, Tabs, usePageTitle } from "../parts.tsx";
import { parentOf } from "../places.tsx";
import { groupAt, type Place, treeGroups } from "../questions.ts";
import { texts } from "../texts/group.ts";

type PageOfGroup = GroupPage | "overview";

interface GroupHeadingProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly current: PageOfGroup;
  /** Buttons beside the name. */
  readonly actions?: ReactNode;
}

/** Pages that send other requests instead of one for the group's description. */
const frugal: ReadonlySet<string> = new Set([
  "access",
  "approvals",
  "associations",
  "audit",
  "bindings",
  "decisions",
  "deleted",
  "findings",
  "events",
  "identities",
  "invites",
  "libraries",
  "providers",
  "robots",
  "roles",
  "rules",
  "sessions",
  "storage",
  "vex",
  "webhooks",
]);

/** A section opens with the first of its pages, in the order of `groupPages`. */
const sectionOf = {
  overview: "overview",
  findings: "findings",
  decisions: "findings",
  approvals: "findings",
  vex: "findings",
  access: "access",
  bindings: "access",
  identities: "access",
  roles: "access",
  robots: "access",
  invites: "access",
  sessions: "access",
  providers: "access",
  associations: "access",
  audit: "activity",
  events: "activity",
  webhooks: "activity",
  rules: "maintenance",
  storage: "maintenance",
  libraries: "maintenance",
  deleted: "maintenance",
} as const satisfies Record<PageOfGroup, string>;

const sections = Map.groupBy(["overview", ...groupPages] as const, (page) => sectionOf[page]);

/** Returns the group as the tree of the page lists it; one of many siblings is asked for, unless the page is frugal. */
const useGroup = (uid: string, isFrugal: boolean): Group | undefined => {
  const tree = useAsk(treeGroups(parentOf(uid) || undefined), { onlyKnown: true });
  const listed = tree.data?.data.groups.find((each) => each.uid === uid);
  const asked = useAsk(listed || !tree.isFetched ? undefined : groupAt(uid), { onlyKnown: isFrugal }).data?.data;
  return listed ?? asked;
};

export const GroupHeading = ({ names, path, current, actions }: GroupHeadingProps): ReactNode => {
  const place = path.at(-1);
  const uid = place?.uid ?? "";
  const name = place?.name || (names.at(-1) ?? "");
  const group = useGroup(uid, frugal.has(current));
  usePageTitle(current === "overview" ? name : `${texts[current]} · ${name}`);
  const addressAt = (page: PageOfGroup): string => (page === "overview" ? addressOf(names) : addressOf(names, page));
  const section = sectionOf[current];
  const pages = sections.get(section) ?? [];
  return (
    <>
      <div className="heading">
        <h1 tabIndex={-1}>
          <Name>{name}</Name>
        </h1>
        {group?.verified ? <Badge tone="good">{texts.verified}</Badge> : null}
        {group?.status === "ORG_STATUS_SUSPENDED" ? <Badge tone="warn">{texts.suspended}</Badge> : null}
        <Copy text={uid} what="uid" />
        {actions}
      </div>
      {group?.description ? (
        <p className="lead">
          <Name>{group.description}</Name>
        </p>
      ) : null}
      <Tabs
        label={texts.sections}
        tabs={[...sections].map(([key, [first = "overview"]]) => ({ key, title: texts.sectionTitles[key], href: addressAt(first) }))}
        current={section}
        isWithin={pages[0] !== current}
      />
      {pages.length > 1 ? (
        <Tabs
          label={texts.sectionTitles[section]}
          tabs={pages.map((page) => ({ key: page, title: texts[page], href: addressAt(page) }))}
          current={current}
          isSecond
        />
      ) : null}
    </>
  );
};
