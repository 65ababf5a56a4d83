// What has changed in an image since another one of its repo: packages and findings.

import { type ReactNode, useId } from "react";
import type { Finding, ImagePackageChange, ImagePackageChangeKind, ListFindingsResponse } from "../../../client/package.ts";
import { navigate, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { findingColumns, findingsOf, shownId } from "../findings.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Failure, Name, Section, Skeleton, Table } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";
import { StateBadge } from "./coverage.tsx";
import { allSize, compared, type ImageRef, latestTags } from "./requests.ts";

type ChangeRow = ImagePackageChange & { readonly uid: string };

const kindTones: Readonly<Record<ImagePackageChangeKind, "good" | "warn" | "plain">> = {
  IMAGE_PACKAGE_CHANGE_KIND_UNSPECIFIED: "plain",
  IMAGE_PACKAGE_CHANGE_KIND_ADDED: "warn",
  IMAGE_PACKAGE_CHANGE_KIND_REMOVED: "good",
  IMAGE_PACKAGE_CHANGE_KIND_CHANGED: "plain",
};

const Versions = ({ versions }: { readonly versions: readonly string[] }): ReactNode =>
  versions.length === 0 ? (
    <span className="quiet">{texts.none}</span>
  ) : (
    <span className="long">
      <Name>{versions.join(", ")}</Name>
    </span>
  );

const changeColumns: readonly Column<ChangeRow>[] = [
  {
    title: texts.packageName,
    cell: ({ name }) => (
      <span className="long">
        <Name>{name}</Name>
      </span>
    ),
  },
  { title: texts.change, cell: ({ kind }) => <Badge tone={kindTones[kind]}>{texts.changeKinds[kind]}</Badge> },
  { title: texts.before, cell: ({ fromVersions }) => <Versions versions={fromVersions} /> },
  { title: texts.now, cell: ({ toVersions }) => <Versions versions={toVersions} /> },
  { title: texts.packageType, cell: ({ type }) => type, minor: true },
];

/** The same vulnerability in the same package, whatever its version. */
const keyOf = (finding: Finding): string => `${shownId(finding)} ${finding.packageName}`;

const without = (some: readonly Finding[], others: readonly Finding[]): Finding[] => {
  const keys = new Set(others.map(keyOf));
  return some.filter((finding) => !keys.has(keyOf(finding)));
};

interface FindingChangesProps {
  readonly title: string;
  readonly findings: readonly Finding[];
  readonly none: string;
}

const { vulnerability, severity, packageName, fixedIn } = findingColumns;

const FindingChanges = ({ title, findings, none }: FindingChangesProps): ReactNode => (
  <Section title={title} count={texts.findingCount(findings.length)}>
    {findings.length === 0 ? (
      <p className="quiet section-body">{none}</p>
    ) : (
      <Table caption={title} columns={[vulnerability, severity, packageName, fixedIn]} items={findings} />
    )}
  </Section>
);

const isWhole = ({ findings, totalCount }: ListFindingsResponse): boolean => Number(totalCount ?? 0) <= findings.length;

/** Findings of an image that tags point at; the worst first. */
const worstOf = (repoUid: string, reference: string) => findingsOf({ images: [repoUid + reference], orderBy: "severity desc", pageSize: allSize });

const Differences = ({ image, from }: { readonly image: ImageRef; readonly from: string }): ReactNode => {
  const url = useAddress();
  const packages = useAsk(compared(image, from, positionIn(url, "skip")));
  const before = useAsk(worstOf(image.repoUid, `:${from}`));
  const now = useAsk(worstOf(image.repoUid, `@${image.digest}`));
  const [old, current] = [before.data?.data, now.data?.data];
  const { state, toState } = packages.data?.data ?? {};
  const error = before.error ?? now.error;
  return (
    <>
      {state && toState && (state !== "IMAGE_CONTENTS_STATE_INDEXED" || toState !== "IMAGE_CONTENTS_STATE_INDEXED") ? (
        <div className="notice" role="status">
          <p>{texts.comparedInPart}</p>
          <p>
            <Name>{from}</Name>: <StateBadge state={state} /> {texts.thisImage}: <StateBadge state={toState} />
          </p>
        </div>
      ) : null}
      {error ? <Failure error={error} retry={() => void Promise.all([before.refetch(), now.refetch()])} /> : null}
      {!error && !(old && current) ? <Skeleton rows={2} /> : null}
      {old && current ? (
        <>
          {isWhole(old) && isWhole(current) ? null : <p className="notice">{texts.findingsCut(allSize)}</p>}
          <FindingChanges title={texts.newFindings} findings={without(current.findings, old.findings)} none={texts.noNewFindings} />
          <FindingChanges title={texts.goneFindings} findings={without(old.findings, current.findings)} none={texts.noGoneFindings} />
        </>
      ) : null}
      <ListSection
        title={texts.changedPackages}
        result={packages}
        itemsOf={(data) => data.changes.map((each): ChangeRow => ({ ...each, uid: `${each.type} ${each.name}` }))}
        columns={changeColumns}
        count={texts.packageCount}
        parameter="skip"
        empty={
          <Empty icon="check" title={texts.samePackagesTitle}>
            <p>{texts.samePackagesText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[packages.data?.sent, before.data?.sent, now.data?.sent]} />
    </>
  );
};

export const Compare = ({ image }: { readonly image: ImageRef }): ReactNode => {
  const url = useAddress();
  const id = useId();
  const result = useAsk(latestTags(image.repoUid));
  const from = url.searchParams.get("with") ?? "";
  const others = (result.data?.data.tags ?? []).filter(({ digest }) => digest !== image.digest);
  const body = (): ReactNode => {
    if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
    if (!result.data) return <Skeleton rows={2} />;
    if (others.length === 0 && from === "")
      return (
        <Empty icon="tag" title={texts.noOtherTagsTitle}>
          <p>{texts.noOtherTagsText}</p>
        </Empty>
      );
    return (
      <div className="section-body">
        <div className="field short-field">
          <label htmlFor={id}>{texts.compareWith}</label>
          <select id={id} value={from} onChange={({ target }) => navigate(withParameters(url, { with: target.value || undefined, skip: undefined }), true)}>
            <option value="">{texts.chooseTag}</option>
            {from === "" || others.some(({ name }) => name === from) ? null : <option value={from}>{from}</option>}
            {others.map(({ uid, name }) => (
              <option key={uid} value={name}>
                {name}
              </option>
            ))}
          </select>
        </div>
      </div>
    );
  };
  return (
    <>
      <Section title={texts.compare}>
        <p className="about section-about">{texts.compareText}</p>
        {body()}
      </Section>
      {from === "" ? null : <Differences key={from} image={image} from={from} />}
    </>
  );
};
