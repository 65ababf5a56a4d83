// Sources of advisories, their coverage of the images, and used storage: for the operator, and for owners in their groups.

import type { ReactNode } from "react";
import type {
  AdvisoryCoverage,
  CoverageState,
  Feed,
  FeedState,
  Group,
  HeldRecord,
  ListAdvisoryCoverageResponse,
  ListFeedsResponse,
  ListHeldRecordsResponse,
} from "../../../client/package.ts";
import { addressOf, navigate, positionIn, useAddress, withParameter } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { sizeText } from "../format.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Command, Empty, Failure, Icon, Link, Name, Section, Skeleton, Time, usePageTitle } from "../parts.tsx";
import { parentOf } from "../places.tsx";
import { organizations, pageFrom } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { storageOf } from "../storage.ts";
import { texts } from "../texts/admin.ts";
import { segmentsOfRoot } from "../tree.tsx";

const feedsAt = (skip: number): Question<ListFeedsResponse> => {
  const request = pageFrom(skip);
  return { name: "advisory.feeds.list", request, send: (gantry, signal) => gantry.advisory.feeds.list(request, { signal }).page() };
};

const coverageAt = (skip: number): Question<ListAdvisoryCoverageResponse> => {
  const request = pageFrom(skip);
  return {
    name: "vulnerabilities.advisory-coverage.list",
    request,
    send: (gantry, signal) => gantry.vulnerabilities.advisoryCoverage.list(request, { signal }).page(),
  };
};

const feedTones: Readonly<Record<FeedState, "good" | "warn" | "plain">> = {
  FEED_STATE_UNSPECIFIED: "plain",
  FEED_STATE_OK: "good",
  FEED_STATE_HELD: "warn",
  FEED_STATE_FAILED: "warn",
};

/** Failed sources come first on their page, then those that held something back. */
const urgency = ({ state }: Feed): number => ["FEED_STATE_HELD", "FEED_STATE_FAILED"].indexOf(state);

const heldAt = (feed: string, skip: number): Question<ListHeldRecordsResponse> => {
  const request = { uidp: { childrenOf: feed }, ...pageFrom(skip) };
  return { name: "advisory.held-records.list", request, send: (gantry, signal) => gantry.advisory.heldRecords.list(request, { signal }).page() };
};

/** Returns the page with the records of this feed, from the first one. */
const heldAddress = (url: URL, feed: string | undefined): string => withParameter(new URL(withParameter(url, "held-from", undefined), url), "held", feed);

const heldColumns: readonly Column<HeldRecord>[] = [
  {
    title: texts.record,
    cell: ({ recordId, packageName }) => (
      <span className="long">
        <Name>{recordId}</Name> <span className="quiet">{packageName === "" ? null : <Name>{packageName}</Name>}</span>
      </span>
    ),
  },
  { title: texts.held, cell: ({ kind }) => <Badge tone="warn">{texts.heldKinds[kind]}</Badge> },
  { title: texts.storedVersion, cell: ({ modifyTime }) => (modifyTime === undefined ? texts.unknownTime : <Time time={modifyTime} />), minor: true },
  {
    title: texts.sourceVersion,
    cell: ({ sourceModifyTime }) => (sourceModifyTime === undefined ? texts.missing : <Time time={sourceModifyTime} />),
    minor: true,
  },
  { title: texts.heldSince, cell: ({ holdTime }) => <Time time={holdTime} />, minor: true },
];

/** Returns the import that accepts what the feed holds back. The API names no scheme and no secrets of the source. */
const allowingCommand = ({ uid, kind, holdReason }: Feed): string => {
  const flag = holdReason === "FEED_HOLD_REASON_OLDER" ? "--allow-older" : "--allow-withdrawals";
  return `npx gantry import ${kind} SOURCE --group ${parentOf(uid)} ${flag}`;
};

const HeldRecords = ({ feed }: { readonly feed: Feed }): ReactNode => {
  const url = useAddress();
  const result = useAsk(heldAt(feed.uid, positionIn(url, "held-from")));
  const listed = Number(result.data?.data.totalCount ?? feed.heldRecordCount);
  return (
    <ListSection
      title={texts.heldOf(feed.sourceName)}
      about={listed > 0 && listed < feed.heldRecordCount ? `${texts.heldText} ${texts.heldFirst(listed, feed.heldRecordCount)}` : texts.heldText}
      action={
        <button type="button" className="copy" aria-label={texts.close} onClick={() => navigate(heldAddress(url, undefined), true)}>
          <Icon name="close" />
        </button>
      }
      result={result}
      itemsOf={(data) => data.heldRecords}
      columns={heldColumns}
      count={texts.heldCount}
      parameter="held-from"
      empty={
        <Empty icon="book" title={texts.noHeldTitle}>
          <p>{texts.noHeldText}</p>
        </Empty>
      }
      after={
        <div className="section-body">
          <p>{texts.allowText}</p>
          <Command text={allowingCommand(feed)} what={texts.allow} />
          <SameRequest sent={[result.data?.sent]} />
        </div>
      }
    />
  );
};

const feedColumns = (url: URL): readonly Column<Feed>[] => [
  {
    title: texts.source,
    cell: ({ sourceName, kind }) => (
      <span className="long">
        <Name>{sourceName}</Name> <span className="quiet">{kind}</span>
      </span>
    ),
  },
  {
    title: texts.state,
    cell: ({ uid, sourceName, state, holdReason, heldRecordCount, holdTime, detail, absentFiles }) => (
      <>
        <Badge tone={feedTones[state]}>{texts.feedStates[state]}</Badge>
        {holdReason === "FEED_HOLD_REASON_UNSPECIFIED" ? null : (
          <div className="under-badge">
            {texts.holdReasons[holdReason]} {heldRecordCount > 0 ? texts.heldRecords(heldRecordCount) : ""} <Time time={holdTime} />
          </div>
        )}
        {detail === "" ? null : (
          <div className="under-badge quiet">
            <Name>{detail}</Name>
          </div>
        )}
        {heldRecordCount === 0 ? null : (
          <div className="under-badge">
            <Link
              href={heldAddress(url, uid)}
              isSamePage
              aria-label={texts.showHeldOf(sourceName)}
              aria-current={url.searchParams.get("held") === uid ? "true" : undefined}
            >
              {texts.showHeld}
            </Link>
          </div>
        )}
        {absentFiles.length === 0 ? null : (
          <div className="under-badge">
            {texts.absentFiles} <Name>{absentFiles.slice(0, 5).join(", ")}</Name>
          </div>
        )}
      </>
    ),
  },
  { title: texts.records, cell: ({ recordCount }) => recordCount.toLocaleString("en"), minor: true },
  { title: texts.lastSuccess, cell: ({ successTime }) => <Time time={successTime} />, minor: true },
  { title: texts.lastChange, cell: ({ changeTime }) => <Time time={changeTime} />, minor: true },
];

const coverageTones: Readonly<Record<CoverageState, "good" | "warn" | "plain">> = {
  COVERAGE_STATE_UNSPECIFIED: "plain",
  COVERAGE_STATE_MATCHED: "good",
  COVERAGE_STATE_NO_SOURCE: "warn",
  COVERAGE_STATE_STALE: "warn",
  COVERAGE_STATE_OS_UNSUPPORTED: "warn",
};

const coverageColumns: readonly Column<AdvisoryCoverage>[] = [
  { title: texts.ecosystem, cell: ({ ecosystem, release }) => <Name>{release === "" ? ecosystem : `${ecosystem} ${release}`}</Name> },
  { title: texts.state, cell: ({ state }) => <Badge tone={coverageTones[state]}>{texts.coverageStates[state]}</Badge> },
  { title: texts.images, cell: ({ imageCount }) => imageCount.toLocaleString("en"), minor: true },
  { title: texts.sources, cell: ({ sources }) => <Name>{sources.map(({ sourceName }) => sourceName).join(", ")}</Name>, minor: true },
  { title: texts.lastSuccess, cell: ({ successTime }) => <Time time={successTime} />, minor: true },
];

const StorageOf = ({ group }: { readonly group: Group }): ReactNode => {
  const result = useAsk(storageOf(group.uid));
  const data = result.data?.data;
  const body = (): ReactNode => {
    if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
    if (!data) return <Skeleton rows={2} />;
    const { bytes, grossBytes, blobCount, organizationBytes, quotaBytes } = data;
    const [used, quota] = [Number(organizationBytes ?? 0), Number(quotaBytes ?? 0)];
    return (
      <div className="details">
        <dl>
          <dt>{texts.stored}</dt>
          <dd>{sizeText(Number(bytes))}</dd>
          <dt>{texts.withoutSharing}</dt>
          <dd>{sizeText(Number(grossBytes))}</dd>
          <dt>{texts.blobs}</dt>
          <dd>{Number(blobCount).toLocaleString("en")}</dd>
          {quota === 0 ? null : (
            <>
              <dt>{texts.quota}</dt>
              <dd>
                <meter min={0} max={quota} value={Math.min(used, quota)} high={quota * 0.9} aria-label={texts.quota} />{" "}
                {texts.usedOf(sizeText(used), sizeText(quota))}
              </dd>
            </>
          )}
        </dl>
        <div className="details-note">
          <SameRequest sent={[result.data?.sent]} />
        </div>
      </div>
    );
  };
  return <Section title={texts.storageOf(group.name)}>{body()}</Section>;
};

const organizationColumns = (url: URL): readonly Column<Group>[] => [
  {
    title: texts.organization,
    cell: (group) => (
      <>
        <Link href={addressOf(segmentsOfRoot(group))}>
          <Name>{group.name}</Name>
        </Link>
        {group.status === "ORG_STATUS_SUSPENDED" ? <Badge tone="warn">{texts.suspended}</Badge> : null}
      </>
    ),
  },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  {
    title: texts.storage,
    cell: ({ uid, name }) => (
      <Link href={withParameter(url, "storage", uid)} isSamePage aria-label={texts.storageOf(name)}>
        {texts.measure}
      </Link>
    ),
  },
];

export const AdminPage = (): ReactNode => {
  usePageTitle(texts.admin);
  const url = useAddress();
  const feeds = useAsk(feedsAt(positionIn(url, "feeds")));
  const coverage = useAsk(coverageAt(positionIn(url, "coverage")));
  const groups = useAsk(organizations(positionIn(url, "organizations")));
  const held = feeds.data?.data.feeds.find(({ uid, heldRecordCount }) => uid === url.searchParams.get("held") && heldRecordCount > 0);
  const measured = groups.data?.data.groups.find(({ uid }) => uid === url.searchParams.get("storage"));
  return (
    <>
      <h1 tabIndex={-1}>{texts.admin}</h1>
      <p className="lead">{texts.adminText}</p>
      <ListSection
        title={texts.feeds}
        about={texts.feedsText}
        result={feeds}
        itemsOf={(data) => [...data.feeds].sort((one, other) => urgency(other) - urgency(one))}
        columns={feedColumns(url)}
        count={texts.feedCount}
        parameter="feeds"
        empty={
          <Empty icon="book" title={texts.noFeedsTitle}>
            <p>{texts.noFeedsText}</p>
            <Command text="npx gantry import advisories --help" what={texts.noFeedsTitle} />
          </Empty>
        }
      />
      {held ? <HeldRecords key={held.uid} feed={held} /> : null}
      <ListSection
        title={texts.coverage}
        about={texts.coverageText}
        result={coverage}
        itemsOf={(data) => data.advisoryCoverage}
        columns={coverageColumns}
        count={texts.ecosystemCount}
        parameter="coverage"
        empty={
          <Empty icon="shield" title={texts.noCoverageTitle}>
            <p>{texts.noCoverageText}</p>
          </Empty>
        }
      />
      {measured ? <StorageOf key={measured.uid} group={measured} /> : null}
      <ListSection
        title={texts.organizations}
        result={groups}
        itemsOf={(data) => data.groups}
        columns={organizationColumns(url)}
        count={texts.organizationCount}
        parameter="organizations"
        empty={
          <Empty icon="group" title={texts.noGroupsTitle}>
            <p>{texts.noOrganizationsText}</p>
          </Empty>
        }
      />
      <Section title={texts.health}>
        <p className="about section-about">{texts.healthText}</p>
        <div className="section-body">
          <Command text={`curl ${location.origin}/readyz`} what={texts.health} />
          <a href="/docs/operate/health">{texts.healthGuide}</a>
        </div>
      </Section>
      <SameRequest sent={[feeds.data?.sent, coverage.data?.sent, groups.data?.sent]} />
    </>
  );
};
