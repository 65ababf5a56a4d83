// Findings as tables show them.

import type { ReactNode } from "react";
import type {
  BaseImage,
  CoverageStatement,
  Finding,
  FindingSeverity,
  FindingSeverityCount,
  ListFindingsRequest,
  ListFindingsResponse,
  VexStatus,
} from "../../client/package.ts";
import { advisoryAddress, imageAddress } from "./address.ts";
import type { Question } from "./api.ts";
import { Badge, type Column, Link, Name, Time } from "./parts.tsx";
import { pageFrom } from "./questions.ts";
import { texts } from "./texts/findings.ts";

/** Severities by their word in the address, the worst first. */
export const severities = {
  critical: "FINDING_SEVERITY_CRITICAL",
  high: "FINDING_SEVERITY_HIGH",
  medium: "FINDING_SEVERITY_MEDIUM",
  low: "FINDING_SEVERITY_LOW",
} as const;
export type SeverityName = keyof typeof severities;
export const severityNames: readonly SeverityName[] = ["critical", "high", "medium", "low"];

export const severityIn = (url: URL): SeverityName | undefined => severityNames.find((each) => each === url.searchParams.get("severity"));

type FindingsRequest = Omit<ListFindingsRequest, "skip">;

export const findingsOf = (wanted: FindingsRequest, skip = 0): Question<ListFindingsResponse> => {
  const request = { ...pageFrom(skip), ...wanted };
  return { name: "findings.list", request, send: (gantry, signal) => gantry.findings.list(request, { signal }).page() };
};

export const toneOf = (severity: FindingSeverity): string => severity.replace("FINDING_SEVERITY_", "").toLowerCase();

export const Severity = ({ severity }: { readonly severity: FindingSeverity }): ReactNode => (
  <span className={`severity ${toneOf(severity)}`}>{texts.severities[severity]}</span>
);

const exploitText = ({ exploitDueDate }: Finding): string => (exploitDueDate === "" ? texts.exploited : texts.exploitedBy(exploitDueDate));

/** A CVE ID is better known than the advisory's own. */
export const shownId = ({ advisoryId, aliases }: Pick<Finding, "advisoryId" | "aliases">): string =>
  [advisoryId, ...aliases].find((id) => id.startsWith("CVE-")) ?? advisoryId;

/** "pkg:deb/debian/libssl3?distro=debian-12": "deb/debian/libssl3". Packages of the group's own distribution have a plain name. */
const packageTitle = (name: string): string => name.replace(/^pkg:/, "").replace(/\?.*$/, "");

/** Types of package URLs without a namespace in most names. */
const plainTypes = ["npm", "pypi", "golang", "gem", "cargo", "nuget", "composer", "hex", "pub"];

/** Names that findings can have for what a user calls a package: "lodash", "npm/lodash" or "pkg:npm/lodash". */
export const packageNamesFor = (name: string): string[] => {
  if (name.startsWith("pkg:")) return [name];
  return [name, `pkg:${name}`, ...plainTypes.map((type) => `pkg:${type}/${name}`)];
};

const fixText = ({ fixState, fixedVersion }: Finding): ReactNode =>
  fixState === "FINDING_FIX_STATE_FIXABLE" ? (
    <Name>{fixedVersion}</Name>
  ) : (
    <span className="quiet">{fixState === "FINDING_FIX_STATE_WONT_FIX" ? texts.wontFix : texts.noFix}</span>
  );

/** What the VEX statements attached to the image claim. */
const statuses = ({ vexStatements }: Finding): readonly VexStatus[] => [...new Set(vexStatements.map(({ status }) => status))];

export const epssText = (score: number): string => `${(score * 100).toFixed(1)} %`;

/** Images that only an annotation names are not in this registry. */
export const addressOfBase = ({ repoUid, digest }: BaseImage): string | undefined =>
  repoUid === "" || digest === "" ? undefined : imageAddress(repoUid, digest);

export const BaseImageLink = ({ base }: { readonly base: BaseImage }): ReactNode => {
  const href = addressOfBase(base);
  const name = <Name>{base.reference}</Name>;
  return href === undefined ? name : <Link href={href}>{name}</Link>;
};

/** Longer IDs break in the line. */
const shortIdMax = 20;

/** Columns that tables of findings choose from. */
export const findingColumns = {
  vulnerability: {
    title: texts.vulnerability,
    cell: (finding) => (
      <>
        <Link href={advisoryAddress(shownId(finding))} className={shownId(finding).length > shortIdMax ? undefined : "one-line"}>
          <Name>{shownId(finding)}</Name>
        </Link>
        {finding.exploited ? <Badge tone="warn">{exploitText(finding)}</Badge> : null}
        {finding.inUse ? <Badge tone="plain">{texts.inUse}</Badge> : null}
        {statuses(finding).map((status) => (
          <Badge key={status} tone="plain">
            {texts.vexStates(texts.vexStatuses[status])}
          </Badge>
        ))}
      </>
    ),
  },
  severity: { title: texts.severity, cell: ({ severity }) => <Severity severity={severity} /> },
  packageName: {
    title: texts.packageName,
    cell: ({ packageName, installedVersion }) => (
      <span className="long" title={packageName}>
        <Name>{packageTitle(packageName)}</Name> <span className="quiet">{installedVersion}</span>
      </span>
    ),
  },
  fixedIn: { title: texts.fixedIn, cell: (finding) => <span className="long">{fixText(finding)}</span>, minor: true },
  image: {
    title: texts.image,
    cell: ({ repo, repoUid, tags, digest, layerPosition, fromBaseImage, baseImage }) => {
      const name = <Name>{tags.length === 0 ? repo : `${repo}:${tags[0]}`}</Name>;
      return (
        <>
          <span className="long">
            {repoUid === "" || digest === "" ? name : <Link href={imageAddress(repoUid, digest)}>{name}</Link>}
            {tags.length > 1 ? <span className="quiet"> +{tags.length - 1}</span> : null}
          </span>
          {fromBaseImage === "FROM_BASE_IMAGE_YES" && baseImage !== undefined ? (
            <div className="under-badge" title={layerPosition === 0 ? undefined : texts.layerNumber(layerPosition)}>
              <span className="quiet">{texts.fromBase}</span> <BaseImageLink base={baseImage} />
            </div>
          ) : null}
          {fromBaseImage === "FROM_BASE_IMAGE_NO" ? <div className="under-badge quiet">{texts.ownLayers}</div> : null}
        </>
      );
    },
    minor: true,
  },
  epss: {
    title: texts.epss,
    cell: ({ epssScore }) => <span className="one-line">{epssScore === 0 ? <span className="quiet">{texts.none}</span> : epssText(epssScore)}</span>,
    minor: true,
  },
  firstSeen: { title: texts.firstSeen, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
} as const satisfies Readonly<Record<string, Column<Finding>>>;

/** What the answer says nothing about. It stands above the counts: zero proves nothing without it. */
export const Coverage = ({ coverage }: { readonly coverage: CoverageStatement }): ReactNode => {
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

interface SeverityCountsProps {
  readonly counts: readonly FindingSeverityCount[];
  /** Address of the findings with this severity and above. */
  readonly addressFor: (severity: SeverityName) => string;
}

export const SeverityCounts = ({ counts, addressFor }: SeverityCountsProps): ReactNode => (
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
            <Link href={addressFor(name)} isSamePage>
              {content}
            </Link>
          )}
        </li>
      );
    })}
  </ul>
);
