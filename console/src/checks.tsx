// Feeds that fail, and access that expires soon: a section of the home page. It waits for the user, because a page sends few requests.

import { type ReactNode, useEffect, useState } from "react";
import {
  ApiError,
  type Feed,
  type Identity,
  type ListAdvisoryCoverageResponse,
  type ListFeedsResponse,
  type ListIdentitiesResponse,
  type ListRoleBindingsResponse,
  type RoleBinding,
} from "../../client/package.ts";
import { identityName } from "./access/access-path.tsx";
import { addressOf, adminAddress } from "./address.ts";
import { type Question, useAsk } from "./api.ts";
import { announce, type Column, Failure, Link, nameOr, Section, Skeleton, Table, Time } from "./parts.tsx";
import { expiryOf } from "./robots/describe.ts";
import { SameRequest } from "./same-request.tsx";
import { Signal } from "./signal.tsx";
import { texts } from "./texts/attention.ts";

/** The largest page. */
const allSize = 200;
const soonMs = 14 * 86_400_000;
const freshMs = 60_000;

const feeds = (): Question<ListFeedsResponse> => {
  const request = { pageSize: allSize };
  return { name: "advisory.feeds.list", request, freshMs, send: (gantry, signal) => gantry.advisory.feeds.list(request, { signal }).page() };
};

const staleCoverage = (): Question<ListAdvisoryCoverageResponse> => {
  const request = { states: ["COVERAGE_STATE_STALE"] as const, pageSize: 1 };
  return {
    name: "vulnerabilities.advisory-coverage.list",
    request,
    freshMs,
    send: (gantry, signal) => gantry.vulnerabilities.advisoryCoverage.list(request, { signal }).page(),
  };
};

const bindings = (): Question<ListRoleBindingsResponse> => {
  const request = { orderBy: "update_time desc", pageSize: allSize };
  return { name: "iam.role-bindings.list", request, freshMs, send: (gantry, signal) => gantry.iam.roleBindings.list(request, { signal }).page() };
};

const identities = (): Question<ListIdentitiesResponse> => {
  const request = { orderBy: "create_time desc", pageSize: allSize };
  return { name: "iam.identities.list", request, freshMs, send: (gantry, signal) => gantry.iam.identities.list(request, { signal }).page() };
};

/** A refusal is no failure: the section says which part the caller may not see. */
const isDenied = (error: unknown): boolean => error instanceof ApiError && error.code === "PERMISSION_DENIED";

const isInTrouble = ({ state }: Feed): boolean => state === "FEED_STATE_FAILED" || state === "FEED_STATE_HELD";

interface Expiring {
  readonly uid: string;
  readonly name: ReactNode;
  readonly href: string;
  readonly kind: string;
  readonly time: string;
}

const isSoon = (time: string | undefined): time is string => {
  const left = Date.parse(time ?? "") - Date.now();
  return left > 0 && left <= soonMs;
};

const parentOf = (uid: string): string[] => uid.split("/").slice(0, -1);

const expiringBinding = (binding: RoleBinding): Expiring[] => {
  const { uid, role, roleUid, identityUid, expireTime } = binding;
  if (!isSoon(expireTime)) return [];
  const name = (
    <>
      {nameOr(role?.name ?? "", roleUid)} {texts.of} {nameOr(identityName(binding), identityUid)}
    </>
  );
  return [{ uid, name, href: addressOf(parentOf(uid), "access"), kind: texts.roleBinding, time: expireTime }];
};

const expiringRobot = (identity: Identity): Expiring[] => {
  const time = expiryOf(identity);
  if (!isSoon(time)) return [];
  const { uid, name } = identity;
  return [{ uid, name: nameOr(name, uid), href: `${addressOf(parentOf(uid), "robots")}?robot=${encodeURIComponent(uid)}`, kind: texts.robot, time }];
};

const columns: readonly Column<Expiring>[] = [
  { title: texts.access, cell: ({ name, href }) => <Link href={href}>{name}</Link> },
  { title: texts.kind, cell: ({ kind }) => kind, minor: true },
  { title: texts.expires, cell: ({ time }) => <Time time={time} /> },
];

const totalOf = (data: { readonly totalCount?: string } | undefined): number => Number(data?.totalCount ?? 0);

export const Checks = (): ReactNode => {
  const [isAsked, setAsked] = useState(false);
  const options = { onlyKnown: !isAsked };
  const fed = useAsk(feeds(), options);
  const stale = useAsk(staleCoverage(), options);
  const bound = useAsk(bindings(), options);
  const robots = useAsk(identities(), options);
  const results = [fed, stale, bound, robots];
  const isDone = results.every(({ data, error }) => data !== undefined || error !== null);
  const isFound = results.some(({ data }) => data !== undefined);
  useEffect(() => {
    if (isAsked && isDone) announce(texts.checked);
  }, [isAsked, isDone]);
  const body = (): ReactNode => {
    if (!isAsked && !isFound)
      return (
        <div className="section-body">
          <p className="about">{texts.checksText}</p>
          <button type="button" className="button" onClick={() => setAsked(true)}>
            {texts.check}
          </button>
        </div>
      );
    if (!isDone) return <Skeleton rows={3} />;
    const failed = results.find(({ error }) => error !== null && !isDenied(error));
    if (failed) return <Failure error={failed.error} retry={() => void failed.refetch()} />;
    const troubled = (fed.data?.data.feeds ?? []).filter(isInTrouble).length;
    const feedCount = totalOf(fed.data?.data);
    const staleCount = totalOf(stale.data?.data);
    const expiring = [...(bound.data?.data.roleBindings ?? []).flatMap(expiringBinding), ...(robots.data?.data.identities ?? []).flatMap(expiringRobot)].sort(
      (one, other) => Date.parse(one.time) - Date.parse(other.time),
    );
    const limits = [
      { total: feedCount, text: texts.feedsLimit },
      { total: totalOf(bound.data?.data), text: texts.bindingsLimit },
      { total: totalOf(robots.data?.data), text: texts.identitiesLimit },
    ].filter(({ total }) => total > allSize);
    return (
      <>
        <ul className="signals">
          {fed.data ? (
            <Signal
              icon={feedCount === 0 ? "minus" : troubled > 0 ? "warning" : "check"}
              isGood={troubled === 0}
              href={troubled > 0 ? adminAddress : undefined}
            >
              {feedCount === 0 ? texts.noFeeds : texts.feedsInTrouble(troubled)}
            </Signal>
          ) : (
            <Signal icon="minus" isGood>
              {texts.feedsDenied}
            </Signal>
          )}
          {staleCount > 0 ? (
            <Signal icon="warning" isGood={false} href={adminAddress}>
              {texts.stale(staleCount)}
            </Signal>
          ) : null}
          {bound.data || robots.data ? (
            <Signal icon={expiring.length > 0 ? "warning" : "check"} isGood={expiring.length === 0}>
              {texts.expiring(expiring.length)}
            </Signal>
          ) : (
            <Signal icon="minus" isGood>
              {texts.accessDenied}
            </Signal>
          )}
        </ul>
        {expiring.length === 0 ? null : <Table caption={texts.expiringTitle} columns={columns} items={expiring} />}
        <div className="section-body">
          {limits.map(({ total, text }) => (
            <p key={text(total, allSize)} className="about">
              {text(total, allSize)}
            </p>
          ))}
          <SameRequest sent={results.map(({ data }) => data?.sent)} />
        </div>
      </>
    );
  };
  return <Section title={texts.checks}>{body()}</Section>;
};
