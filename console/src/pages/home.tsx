// The home page: the caller's organizations, or the first steps on a fresh server.

import { type ReactNode, Suspense } from "react";
import type { Group } from "../../../client/package.ts";
import { addressOf, pageSizeIn, positionIn, useAddress } from "../address.ts";
import { useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { onDemand } from "../on-demand.tsx";
import { Badge, type Column, Command, Copy, Empty, Link, Name, Section, Skeleton, Time, usePageTitle } from "../parts.tsx";
import { newestTags, organizations, treeGroups, visibleGroups, whoAmI } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts.ts";
import { segmentsOfRoot } from "../tree.tsx";

const Activity = onDemand(async () => (await import("../attention.tsx")).Activity);

const columns: readonly Column<Group>[] = [
  {
    title: texts.name,
    cell: (group) => (
      <>
        <Link href={addressOf(segmentsOfRoot(group))}>
          <Name>{group.name}</Name>
        </Link>
        {group.verified ? <Badge tone="good">{texts.verified}</Badge> : null}
        {group.status === "ORG_STATUS_SUSPENDED" ? <Badge tone="warn">{texts.suspended}</Badge> : null}
      </>
    ),
  },
  { title: texts.description, cell: ({ description }) => <Name>{description}</Name>, minor: true },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} /> },
];

const FirstSteps = ({ organization }: { readonly organization: string }): ReactNode => {
  const host = location.host;
  const commands = [
    `npx gantry token | docker login ${host} --username _token --password-stdin`,
    `docker tag alpine:3 ${host}/${organization}/base/alpine:3 && docker push ${host}/${organization}/base/alpine:3`,
    `npx gantry import advisories --help`,
  ];
  return (
    <Section title={texts.startTitle}>
      <p className="lead">{texts.startText}</p>
      <ol className="steps">
        {texts.startSteps.map(({ title, text }, index) => (
          <li key={title}>
            <h3>{title}</h3>
            <p>{text}</p>
            <Command text={commands[index] ?? ""} what={title} />
          </li>
        ))}
      </ol>
    </Section>
  );
};

const NoAccess = (): ReactNode => {
  const subject = useAsk(whoAmI()).data?.data.subject ?? "";
  return (
    <Section title={texts.places}>
      <Empty icon="key" title={texts.noAccessTitle}>
        <p>{texts.noAccessText}</p>
        <p className="digest">
          <span className="quiet">{texts.yourId}</span> <code>{subject}</code> <Copy text={subject} what={texts.yourId} />
        </p>
      </Empty>
    </Section>
  );
};

/** Groups whose parent is not among them. */
export const topmost = (groups: readonly Group[]): Group[] => {
  const uids = new Set(groups.map(({ uid }) => uid));
  return groups.filter(({ uid }) => !uids.has(uid.slice(0, uid.lastIndexOf("/"))));
};

export const HomePage = (): ReactNode => {
  usePageTitle(texts.home);
  const url = useAddress();
  const skip = positionIn(url, "skip");
  const roots = useAsk(treeGroups(undefined));
  // The tree's request has the first page, unless there are more organizations.
  const isOnePage = skip === 0 && Number(roots.data?.data.totalCount ?? 0) <= pageSizeIn(url);
  const paged = useAsk(isOnePage ? undefined : organizations(skip));
  const result = isOnePage ? roots : paged;
  const groups = result.data?.data.groups;
  const isEmpty = groups?.length === 0 && skip === 0;
  const others = useAsk(isEmpty ? visibleGroups() : undefined);
  const below = topmost(others.data?.data.groups ?? []);
  const hasGroups = (groups?.length ?? 0) > 0 || below.length > 0;
  const tags = useAsk(hasGroups ? newestTags() : undefined);
  const latest = tags.data?.data.tags ?? [];
  const first = groups?.[0];
  const isFresh = tags.data !== undefined && latest.length === 0;
  return (
    <>
      <h1 tabIndex={-1}>{texts.home}</h1>
      {isFresh && first ? <FirstSteps organization={first.name} /> : null}
      {latest.length > 0 ? (
        <Suspense fallback={<Skeleton rows={6} />}>
          <Activity tags={latest} />
        </Suspense>
      ) : null}
      {isEmpty && others.data && below.length === 0 ? <NoAccess /> : null}
      {isEmpty && below.length > 0 ? (
        <ListSection
          title={texts.places}
          result={others}
          itemsOf={() => below}
          columns={columns}
          count={() => texts.groupCount(below.length)}
          parameter="skip"
          empty={null}
        />
      ) : null}
      {isEmpty ? null : (
        <ListSection
          title={texts.organizations}
          result={result}
          itemsOf={(data) => data.groups}
          columns={columns}
          count={(total) => String(total)}
          parameter="skip"
          empty={null}
        />
      )}
      <SameRequest sent={[isEmpty ? others.data?.sent : result.data?.sent]} />
    </>
  );
};
