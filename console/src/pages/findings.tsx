// Findings in the images of a group and everything below it, worst first. The filter and the order are in the address.

import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { CoverageStatement, Finding, FindingSeverity, FindingSeverityCount, ListFindingsResponse } from "../../../client/package.ts";
import { navigate, positionIn, useAddress, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Link, Name, Section, Time } from "../parts.tsx";
import { pageSize } from "../questions.ts";
import { texts } from "../texts.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

/** Severities by their word in the address, the worst first. */
const severities = {
  critical: "FINDING_SEVERITY_CRITICAL",
  high: "FINDING_SEVERITY_HIGH",
  medium: "FINDING_SEVERITY_MEDIUM",
  low: "FINDING_SEVERITY_LOW",
} as const;
type SeverityName = keyof typeof severities;
const severityNames: readonly SeverityName[] = ["critical", "high", "medium", "low"];

const orders = { severity: "severity desc", epss: "epss desc", newest: "create_time desc", due: "exploit_due_date desc" } as const;
type OrderName = keyof typeof orders;
const orderNames: readonly OrderName[] = ["severity", "epss", "newest", "due"];

interface Filter {
  readonly severity: SeverityName | undefined;
  readonly order: OrderName;
  readonly vulnerability: string;
  readonly packageName: string;
  readonly exploited: boolean;
  readonly fixable: boolean;
  readonly inUse: boolean;
}

const filterIn = (url: URL): Filter => ({
  severity: severityNames.find((each) => each === url.searchParams.get("severity")),
  order: orderNames.find((each) => each === url.searchParams.get("order")) ?? "severity",
  vulnerability: url.searchParams.get("vulnerability") ?? "",
  packageName: url.searchParams.get("package") ?? "",
  exploited: url.searchParams.has("exploited"),
  fixable: url.searchParams.has("fixable"),
  inUse: url.searchParams.has("in-use"),
});

const addressOf = (url: URL, { severity, order, vulnerability, packageName, exploited, fixable, inUse }: Filter): string =>
  withParameters(url, {
    severity,
    order: order === "severity" ? undefined : order,
    vulnerability: vulnerability || undefined,
    package: packageName || undefined,
    exploited: exploited ? "" : undefined,
    fixable: fixable ? "" : undefined,
    "in-use": inUse ? "" : undefined,
    skip: undefined,
  });

const findingsIn = (group: string, filter: Filter, skip: number): Question<ListFindingsResponse> => {
  const { severity, order, vulnerability, packageName, exploited, fixable, inUse } = filter;
  const request = {
    uidp: { descendantsOf: group },
    ...(severity === undefined ? {} : { minSeverity: severities[severity] }),
    ...(vulnerability === "" ? {} : { advisoryIds: [vulnerability] }),
    ...(packageName === "" ? {} : { packages: [packageName] }),
    ...(exploited ? { exploited } : {}),
    ...(fixable ? { fixable } : {}),
    ...(inUse ? { inUse } : {}),
    orderBy: orders[order],
    pageSize,
    ...(skip > 0 ? { skip } : {}),
  };
  return { name: "findings.list", request, send: (gantry, signal) => gantry.findings.list(request, { signal }).page() };
};

const toneOf = (severity: FindingSeverity): string => severity.replace("FINDING_SEVERITY_", "").toLowerCase();

const Severity = ({ severity }: { readonly severity: FindingSeverity }): ReactNode => (
  <span className={`severity ${toneOf(severity)}`}>{texts.severities[severity]}</span>
);

const fixText = ({ fixState, fixedVersion }: Finding): ReactNode =>
  fixState === "FINDING_FIX_STATE_FIXABLE" ? (
    <Name>{fixedVersion}</Name>
  ) : (
    <span className="quiet">{fixState === "FINDING_FIX_STATE_WONT_FIX" ? texts.wontFix : texts.noFix}</span>
  );

const exploitText = ({ exploitDueDate }: Finding): string => (exploitDueDate === "" ? texts.exploited : texts.exploitedBy(exploitDueDate));

/** A CVE ID is better known than the advisory's own. */
const shownId = ({ advisoryId, aliases }: Finding): string => [advisoryId, ...aliases].find((id) => id.startsWith("CVE-")) ?? advisoryId;

const columns: readonly Column<Finding>[] = [
  {
    title: texts.vulnerability,
    cell: (finding) => (
      <>
        <Name>{shownId(finding)}</Name>
        {finding.exploited ? <Badge tone="warn">{exploitText(finding)}</Badge> : null}
        {finding.inUse ? <Badge tone="plain">{texts.inUse}</Badge> : null}
      </>
    ),
  },
  { title: texts.severity, cell: ({ severity }) => <Severity severity={severity} /> },
  {
    title: texts.packageName,
    cell: ({ packageName, installedVersion }) => (
      <span className="long">
        <Name>{packageName}</Name> <span className="quiet">{installedVersion}</span>
      </span>
    ),
  },
  { title: texts.fixedIn, cell: (finding) => <span className="long">{fixText(finding)}</span>, minor: true },
  {
    title: texts.image,
    cell: ({ repo, tags }) => (
      <span className="long">
        <Name>{tags.length === 0 ? repo : `${repo}:${tags[0]}`}</Name>
        {tags.length > 1 ? <span className="quiet"> +{tags.length - 1}</span> : null}
      </span>
    ),
    minor: true,
  },
  {
    title: texts.epss,
    cell: ({ epssScore }) => (epssScore === 0 ? <span className="quiet">{texts.none}</span> : `${(epssScore * 100).toFixed(1)} %`),
    minor: true,
  },
  { title: texts.firstSeen, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
];

/** What the answer says nothing about. It stands above the counts: zero proves nothing without it. */
const Coverage = ({ coverage }: { readonly coverage: CoverageStatement }): ReactNode => {
  const { imageCount, unjudgedImageCount, ecosystems } = coverage;
  if (imageCount === 0 && unjudgedImageCount === 0) return <p className="notice">{texts.noImages}</p>;
  if (unjudgedImageCount === 0) return <p className="quiet coverage">{texts.allCovered(imageCount)}</p>;
  const names = [...new Set(ecosystems.map(({ ecosystem, release }) => (release === "" ? ecosystem : `${ecosystem} ${release}`)))];
  return (
    <p className="notice" role="status">
      {texts.notCovered(unjudgedImageCount, imageCount)} {names.length === 0 ? null : <bdi>{`${texts.uncovered}: ${names.join(", ")}`}</bdi>}
    </p>
  );
};

const Counts = ({ counts, url, filter }: { readonly counts: readonly FindingSeverityCount[]; readonly url: URL; readonly filter: Filter }): ReactNode => (
  <ul className="counts" aria-label={texts.bySeverity}>
    {counts.map(({ severity, count }) => {
      const name = severityNames.find((each) => severities[each] === severity);
      const content = (
        <>
          <Severity severity={severity} /> <strong>{Number(count).toLocaleString("en")}</strong>
        </>
      );
      return (
        <li key={severity}>
          {name === undefined ? (
            content
          ) : (
            <Link href={addressOf(url, { ...filter, severity: name })} isSamePage>
              {content}
            </Link>
          )}
        </li>
      );
    })}
  </ul>
);

const FilterForm = ({ filter }: { readonly filter: Filter }): ReactNode => {
  const url = useAddress();
  const id = useId();
  const [wanted, setWanted] = useState(filter);
  const change = (changed: Partial<Filter>): void => setWanted({ ...wanted, ...changed });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    navigate(addressOf(url, wanted), true);
  };
  return (
    <Section title={texts.filter}>
      <form className="fields filters" onSubmit={submit}>
        <div className="field">
          <label htmlFor={`${id}-severity`}>{texts.minSeverity}</label>
          <select
            id={`${id}-severity`}
            value={wanted.severity ?? ""}
            onChange={({ target }) => change({ severity: severityNames.find((each) => each === target.value) })}
          >
            <option value="">{texts.anySeverity}</option>
            {severityNames.map((name) => (
              <option key={name} value={name}>
                {texts.severities[severities[name]]}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={`${id}-order`}>{texts.order}</label>
          <select
            id={`${id}-order`}
            value={wanted.order}
            onChange={({ target }) => change({ order: orderNames.find((each) => each === target.value) ?? "severity" })}
          >
            {orderNames.map((name) => (
              <option key={name} value={name}>
                {texts.orders[name]}
              </option>
            ))}
          </select>
        </div>
        <div className="field">
          <label htmlFor={`${id}-id`}>{texts.vulnerability}</label>
          <input
            id={`${id}-id`}
            value={wanted.vulnerability}
            aria-describedby={`${id}-id-about`}
            onChange={({ target }) => change({ vulnerability: target.value.trim() })}
          />
          <p id={`${id}-id-about`} className="about">
            {texts.vulnerabilityHint}
          </p>
        </div>
        <div className="field">
          <label htmlFor={`${id}-package`}>{texts.packageName}</label>
          <input
            id={`${id}-package`}
            value={wanted.packageName}
            aria-describedby={`${id}-package-about`}
            onChange={({ target }) => change({ packageName: target.value.trim() })}
          />
          <p id={`${id}-package-about`} className="about">
            {texts.packageHint}
          </p>
        </div>
        <div className="checks">
          <label className="check">
            <input type="checkbox" checked={wanted.exploited} onChange={({ target }) => change({ exploited: target.checked })} />
            {texts.onlyExploited}
          </label>
          <label className="check">
            <input type="checkbox" checked={wanted.fixable} onChange={({ target }) => change({ fixable: target.checked })} />
            {texts.onlyFixable}
          </label>
          <label className="check">
            <input type="checkbox" checked={wanted.inUse} onChange={({ target }) => change({ inUse: target.checked })} />
            {texts.onlyInUse}
          </label>
        </div>
        <div className="form-actions">
          <Link className="button" href={url.pathname} isSamePage>
            {texts.clearFilter}
          </Link>
          <button type="submit" className="button primary">
            {texts.filter}
          </button>
        </div>
      </form>
    </Section>
  );
};

export const FindingsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const filter = filterIn(url);
  const result = useAsk(findingsIn(path.at(-1)?.uid ?? "", filter, positionIn(url, "skip")));
  const { coverage, summary } = result.data?.data ?? {};
  return (
    <GroupFrame names={names} path={path} current="findings" sent={[result.data?.sent]}>
      {coverage ? <Coverage coverage={coverage} /> : null}
      {summary && summary.severityCounts.length > 0 ? <Counts counts={summary.severityCounts} url={url} filter={filter} /> : null}
      <FilterForm key={url.search} filter={filter} />
      <ListSection
        title={texts.findings}
        result={result}
        itemsOf={(data) => data.findings}
        columns={columns}
        count={texts.findingCount}
        parameter="skip"
        empty={
          <Empty icon="shield" title={texts.noFindingsTitle}>
            <p>{texts.noFindingsText}</p>
          </Empty>
        }
      />
    </GroupFrame>
  );
};
