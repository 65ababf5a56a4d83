// Vulnerabilities in all images that the user sees, and the page of one. The filter is in the address.

import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { Advisory, Finding, ListAdvisoriesResponse, ListVulnerabilityMetadataResponse, VulnerabilityMetadata } from "../../../client/package.ts";
import { advisoriesAddress, advisoryAddress, navigate, positionIn, useAddress, vulnerabilityIdIn, withParameters } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { Coverage, epssText, findingColumns, findingsOf, packageNamesFor, severities, SeverityCounts, severityIn } from "../findings.tsx";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Copy, Empty, Failure, Icon, Link, Name, Section, Skeleton, Table, Time, usePageTitle } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/advisories.ts";

/** Published records by any of their IDs. */
const recordsOf = (ids: readonly string[]): Question<ListVulnerabilityMetadataResponse> => {
  const request = { ids };
  return {
    name: "advisory.vulnerability-metadata.list",
    request,
    send: (gantry, signal) => gantry.advisory.vulnerabilityMetadata.list(request, { signal }).page(),
  };
};

const advisoriesQuestion = (
  request: { readonly aliases: readonly string[] } | { readonly advisoryIds: readonly string[] },
): Question<ListAdvisoriesResponse> => ({
  name: "vulnerabilities.advisories.list",
  request: { ...request },
  send: (gantry, signal) => gantry.vulnerabilities.advisories.list(request, { signal }).page(),
});

const SearchForm = ({ first }: { readonly first: string }): ReactNode => {
  const id = useId();
  const [typed, setTyped] = useState(first);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    const query = typed.trim();
    const found = vulnerabilityIdIn(query);
    if (found !== undefined) navigate(advisoryAddress(found));
    else navigate(query === "" ? advisoriesAddress : `${advisoriesAddress}?package=${encodeURIComponent(query)}`, true);
  };
  return (
    <form className="search-form" onSubmit={submit}>
      <div className="field">
        <label htmlFor={id}>{texts.vulnerabilitySearch}</label>
        <input id={id} value={typed} maxLength={255} spellCheck={false} aria-describedby={`${id}-about`} onChange={({ target }) => setTyped(target.value)} />
        <p id={`${id}-about`} className="about">
          {texts.vulnerabilitySearchHint}
        </p>
      </div>
      <button type="submit" className="button primary">
        <Icon name="search" />
        {texts.search}
      </button>
    </form>
  );
};

const columns: readonly Column<Finding>[] = Object.values(findingColumns);

/** All vulnerabilities, or those in one package. */
export const AdvisoriesPage = (): ReactNode => {
  usePageTitle(texts.vulnerabilities);
  const url = useAddress();
  const packageName = url.searchParams.get("package") ?? "";
  const severity = severityIn(url);
  const isExploited = url.searchParams.has("exploited");
  const request = {
    ...(packageName === "" ? {} : { packages: packageNamesFor(packageName) }),
    ...(severity === undefined ? {} : { minSeverity: severities[severity] }),
    ...(isExploited ? { exploited: true } : {}),
    orderBy: "severity desc",
  };
  const result = useAsk(findingsOf(request, positionIn(url, "skip")));
  const { coverage, summary } = result.data?.data ?? {};
  const isFiltered = packageName !== "" || severity !== undefined || isExploited;
  return (
    <>
      <h1 tabIndex={-1}>{texts.vulnerabilities}</h1>
      <p className="lead">{texts.vulnerabilitiesText}</p>
      <SearchForm key={packageName} first={packageName} />
      {coverage ? <Coverage coverage={coverage} /> : null}
      {summary && summary.severityCounts.length > 0 ? (
        <SeverityCounts counts={summary.severityCounts} addressFor={(each) => withParameters(url, { severity: each, skip: undefined })} />
      ) : null}
      <nav className="states" aria-label={texts.filter}>
        <Link className="button" href={withParameters(url, { exploited: isExploited ? undefined : "", skip: undefined })} isSamePage aria-current={isExploited}>
          {texts.onlyExploited}
        </Link>
        {isFiltered ? (
          <Link className="button" href={advisoriesAddress} isSamePage>
            {texts.clearFilter}
          </Link>
        ) : null}
      </nav>
      <ListSection
        title={packageName === "" ? texts.findings : texts.findingsIn(packageName)}
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
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};

/** Only web addresses become links. */
const isWebAddress = (address: string): boolean => {
  try {
    return ["https:", "http:"].includes(new URL(address).protocol);
  } catch {
    return false;
  }
};

const referencesMax = 10;
const idsMax = 20;

interface RecordProps {
  /** The record with the most text, of all with the same vulnerability. */
  readonly record: VulnerabilityMetadata | undefined;
  readonly records: readonly VulnerabilityMetadata[];
  readonly finding: Finding | undefined;
}

const Record = ({ record, records, finding }: RecordProps): ReactNode => {
  const exploitPrediction = records.find((each) => each.exploitPrediction)?.exploitPrediction;
  const knownExploited = records.find((each) => each.knownExploited)?.knownExploited;
  const epss = exploitPrediction?.score ?? finding?.epssScore ?? 0;
  const scores = record?.severities.map(({ score }) => score) ?? [];
  const vectors = scores.length > 0 ? scores : finding && finding.cvssVector !== "" ? [finding.cvssVector] : [];
  const isExploited = knownExploited !== undefined || finding?.exploited === true;
  const dueDate = knownExploited?.dueDate || (finding?.exploitDueDate ?? "");
  const references = record?.references.map(({ url }) => url).filter(isWebAddress) ?? [];
  return (
    <Section title={texts.aboutVulnerability}>
      <div className="details">
        <dl>
          <dt>{texts.severity}</dt>
          <dd>
            {finding ? texts.severities[finding.severity] : vectors.length === 0 ? texts.unknown : null}
            {finding && finding.cvssScore > 0 ? <span className="quiet"> {texts.cvss(finding.cvssScore)}</span> : null}
            {vectors.map((vector) => (
              <div key={vector}>
                <code className="long">{vector}</code>
              </div>
            ))}
          </dd>
          <dt>{texts.exploitation}</dt>
          <dd>
            {isExploited ? <Badge tone="warn">{dueDate === "" ? texts.exploited : texts.exploitedBy(dueDate)}</Badge> : texts.notExploited}
            {knownExploited?.ransomware ? <Badge tone="warn">{texts.ransomware}</Badge> : null}
          </dd>
          <dt>{texts.epss}</dt>
          <dd>
            {epss === 0 ? texts.unknown : epssText(epss)}
            {exploitPrediction ? <span className="quiet"> {texts.percentile(exploitPrediction.percentile)}</span> : null}
          </dd>
          {references.length === 0 ? null : (
            <>
              <dt>{texts.references}</dt>
              <dd>
                <ul className="plain-list">
                  {references.slice(0, referencesMax).map((address) => (
                    <li key={address}>
                      <a href={address} rel="noreferrer noopener" target="_blank">
                        <Name>{address}</Name>
                      </a>
                    </li>
                  ))}
                </ul>
                {references.length > referencesMax ? <span className="quiet">{texts.moreReferences(references.length - referencesMax)}</span> : null}
              </dd>
            </>
          )}
        </dl>
        {record?.details ? <p className="prose">{record.details}</p> : null}
        {record ? null : <p className="section-body quiet">{texts.noRecord}</p>}
      </div>
    </Section>
  );
};

const advisoryColumns: readonly Column<Advisory>[] = [
  {
    title: texts.advisory,
    cell: ({ advisoryId, aliases }) => (
      <>
        <Name>{advisoryId}</Name>
        <div className="quiet">
          <Name>{aliases.filter((alias) => alias !== advisoryId).join(", ")}</Name>
        </div>
      </>
    ),
  },
  {
    title: texts.packageName,
    cell: ({ artifactName, componentName }) => (
      <span className="long">
        <Name>{artifactName || componentName}</Name>
      </span>
    ),
  },
  { title: texts.packageType, cell: ({ artifactType }) => artifactType, minor: true },
  {
    title: texts.author,
    cell: ({ author }) => (
      <span className="long">
        <Name>{author}</Name>
      </span>
    ),
    minor: true,
  },
  { title: texts.updated, cell: ({ updateTime }) => <Time time={updateTime} />, minor: true },
];

const openStates = ["AFFECTED_IMAGE_STATE_AFFECTED", "AFFECTED_IMAGE_STATE_UNDER_INVESTIGATION"] as const;
const closedStates = ["AFFECTED_IMAGE_STATE_RESOLVED", "AFFECTED_IMAGE_STATE_SUPPRESSED"] as const;

const stateColumn: Column<Finding> = {
  title: texts.state,
  cell: ({ state }) => <Badge tone={state === "AFFECTED_IMAGE_STATE_AFFECTED" ? "warn" : "plain"}>{texts.findingStates[state]}</Badge>,
  minor: true,
};

const { image, packageName, severity, fixedIn, firstSeen } = findingColumns;

/** What the vulnerability is, and which images have it. */
export const AdvisoryPage = ({ id }: { readonly id: string }): ReactNode => {
  usePageTitle(id);
  const url = useAddress();
  const isPast = url.searchParams.has("past");
  const affected = useAsk(
    findingsOf({ advisoryIds: [id], ...(isPast ? { states: [...openStates, ...closedStates] } : {}), orderBy: "severity desc" }, positionIn(url, "skip")),
  );
  const byAlias = useAsk(advisoriesQuestion({ aliases: [id] }));
  const byId = useAsk(advisoriesQuestion({ advisoryIds: [id] }));
  const advisories = [...new Map([...(byId.data?.data.advisories ?? []), ...(byAlias.data?.data.advisories ?? [])].map((each) => [each.uid, each])).values()];
  const found = affected.data?.data.findings ?? [];
  const aliases = [...new Set([...found, ...advisories].flatMap((each) => [each.advisoryId, ...each.aliases]))]
    .filter((alias) => alias !== id && alias !== "")
    .sort();
  // Other sources can have the record under another ID.
  const isSettled = [affected, byAlias, byId].every(({ isPending }) => !isPending);
  const record = useAsk(isSettled ? recordsOf([id, ...aliases].slice(0, idsMax)) : undefined);
  const records = record.data?.data.vulnerabilityMetadata ?? [];
  const metadata = records.find(({ summary, details }) => summary !== "" || details !== "") ?? records[0];
  const sources = (): ReactNode => {
    const error = byAlias.error ?? byId.error;
    if (error) return <Failure error={error} />;
    if (!byAlias.data || !byId.data) return <Skeleton rows={2} />;
    if (advisories.length === 0) return <p className="quiet section-body">{texts.noAdvisories}</p>;
    return <Table caption={texts.advisories} columns={advisoryColumns} items={advisories} />;
  };
  return (
    <>
      <div className="heading">
        <h1 tabIndex={-1}>
          <Name>{id}</Name>
        </h1>
        <Copy text={id} what={texts.vulnerability} />
      </div>
      {metadata?.summary ? (
        <p className="lead">
          <Name>{metadata.summary}</Name>
        </p>
      ) : null}
      {aliases.length === 0 ? null : (
        <p className="reference">
          <span className="quiet">{texts.aliases}</span>
          {aliases.slice(0, 20).map((alias) => (
            <Link key={alias} href={advisoryAddress(alias)}>
              <Name>{alias}</Name>
            </Link>
          ))}
        </p>
      )}
      {affected.data?.data.coverage ? <Coverage coverage={affected.data.data.coverage} /> : null}
      <ListSection
        title={texts.affectedImages}
        action={
          <Link className="button" href={withParameters(url, { past: isPast ? undefined : "", skip: undefined })} isSamePage>
            {isPast ? texts.hidePast : texts.showPast}
          </Link>
        }
        result={affected}
        itemsOf={(data) => data.findings}
        columns={[{ ...image, minor: false }, packageName, { ...severity, minor: true }, { ...fixedIn, minor: false }, firstSeen, stateColumn]}
        count={texts.findingCount}
        parameter="skip"
        empty={
          <Empty icon="check" title={texts.notAffectedTitle}>
            <p>{texts.noFindingsText}</p>
          </Empty>
        }
      />
      {record.error ? (
        <Failure error={record.error} />
      ) : record.data ? (
        <Record record={metadata} records={records} finding={found[0]} />
      ) : (
        <Skeleton rows={3} />
      )}
      <Section title={texts.advisories} count={advisories.length > 0 ? texts.advisoryCount(advisories.length) : undefined}>
        {sources()}
      </Section>
      <SearchForm key={id} first="" />
      <SameRequest sent={[affected.data?.sent, record.data?.sent, byAlias.data?.sent, byId.data?.sent]} />
    </>
  );
};
