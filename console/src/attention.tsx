// What needs attention in the groups that the user sees, and the latest tags: sections of the home page.

import type { ReactNode } from "react";
import type { Finding, ListDeliveriesResponse, ListReposResponse, Tag } from "../../client/package.ts";
import { addressOf, advisoriesAddress, imageAddress } from "./address.ts";
import { type Question, useAsk } from "./api.ts";
import { Checks } from "./checks.tsx";
import { findingColumns, findingsOf } from "./findings.tsx";
import { type Column, Digest, Failure, Link, Name, nameOr, Section, Skeleton, Table, Time } from "./parts.tsx";
import { SameRequest } from "./same-request.tsx";
import { Signal } from "./signal.tsx";
import { texts } from "./texts/attention.ts";

const shown = 5;

const deadDeliveries = (): Question<ListDeliveriesResponse> => {
  const request = { states: ["DELIVERY_STATE_DEAD"] as const, orderBy: "create_time desc", pageSize: shown };
  return { name: "events.deliveries.list", request, send: (gantry, signal) => gantry.events.deliveries.list(request, { signal }).page() };
};

const reposWith = (ids: readonly string[]): Question<ListReposResponse> => {
  const request = { uidp: { ids }, pageSize: shown };
  return { name: "registry.repos.list", request, freshMs: 15_000, send: (gantry, signal) => gantry.registry.repos.list(request, { signal }).page() };
};

const { vulnerability, severity, packageName, image, fixedIn } = findingColumns;
const columns: readonly Column<Finding>[] = [vulnerability, severity, packageName, image, fixedIn];

/** The group of a subscription. */
const groupOf = (subscriptionUid: string): readonly string[] => subscriptionUid.split("/").slice(0, -1);

const Attention = (): ReactNode => {
  // Exploited findings come first in this order; the counts are of all.
  const findings = useAsk(findingsOf({ orderBy: "exploit_due_date desc", pageSize: shown }));
  const dead = useAsk(deadDeliveries());
  const data = findings.data?.data;
  const critical = Number(data?.summary?.severityCounts.find((each) => each.severity === "FINDING_SEVERITY_CRITICAL")?.count ?? 0);
  const exploited = (data?.findings ?? []).filter((each) => each.exploited);
  const { imageCount = 0, unjudgedImageCount = 0 } = data?.coverage ?? {};
  const failed = Number(dead.data?.data.totalCount ?? 0);
  const first = dead.data?.data.deliveries[0];
  const body = (): ReactNode => {
    if (findings.error) return <Failure error={findings.error} retry={() => void findings.refetch()} />;
    if (!data) return <Skeleton rows={3} />;
    return (
      <>
        <ul className="signals">
          {imageCount === 0 ? (
            <Signal icon="minus" isGood>
              {texts.nothingJudged}
            </Signal>
          ) : (
            <Signal
              icon={critical > 0 ? "warning" : "check"}
              isGood={critical === 0}
              href={critical > 0 ? `${advisoriesAddress}?severity=critical` : undefined}
            >
              {texts.criticalCount(critical)}
            </Signal>
          )}
          {exploited.length > 0 ? (
            <Signal icon="warning" isGood={false} href={`${advisoriesAddress}?exploited`}>
              {exploited.length === shown ? texts.exploitedAtLeast(shown) : texts.exploitedCount(exploited.length)}
            </Signal>
          ) : null}
          {unjudgedImageCount > 0 ? (
            <Signal icon="warning" isGood={false} href={advisoriesAddress}>
              {texts.notCovered(unjudgedImageCount, imageCount)}
            </Signal>
          ) : null}
          {dead.data ? (
            <Signal
              icon={failed > 0 ? "warning" : "check"}
              isGood={failed === 0}
              href={first ? `${addressOf(groupOf(first.subscriptionUid), "webhooks")}?state=dead` : undefined}
            >
              {texts.failedDeliveries(failed)}
            </Signal>
          ) : null}
        </ul>
        {exploited.length === 0 ? null : <Table caption={texts.exploited} columns={columns} items={exploited} />}
        <div className="section-body">
          <SameRequest sent={[findings.data?.sent, dead.data?.sent]} />
        </div>
      </>
    );
  };
  return <Section title={texts.attention}>{body()}</Section>;
};

const repoOf = (tag: Tag): string => tag.uid.slice(0, tag.uid.lastIndexOf("/"));

const LatestTags = ({ tags }: { readonly tags: readonly Tag[] }): ReactNode => {
  const repos = useAsk(reposWith([...new Set(tags.map(repoOf))].sort()));
  const names = new Map(repos.data?.data.repos.map(({ uid, name }) => [uid, name]));
  const tagColumns: readonly Column<Tag>[] = [
    {
      title: texts.image,
      cell: (tag) => (
        <Link href={imageAddress(repoOf(tag), tag.digest)}>
          {nameOr(names.get(repoOf(tag)) ?? "", repoOf(tag))}
          <Name>{`:${tag.name}`}</Name>
        </Link>
      ),
    },
    { title: texts.digest, cell: ({ digest }) => <Digest digest={digest} />, minor: true },
    { title: texts.updated, cell: ({ updateTime }) => <Time time={updateTime} /> },
  ];
  return (
    <Section title={texts.latestTags}>
      <Table caption={texts.latestTags} columns={tagColumns} items={tags} />
    </Section>
  );
};

/** These sections, for a server with images. */
export const Activity = ({ tags }: { readonly tags: readonly Tag[] }): ReactNode => (
  <>
    <Attention />
    <LatestTags tags={tags} />
    <Checks />
  </>
);
