// Findings in the images of a group and everything below it, worst first. The filter and the order are in the address.

import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { Finding } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { navigate, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { DecideForm } from "../decisions/decide-form.tsx";
import { decideCapability } from "../decisions/requests.ts";
import { groupColumns, groupings, type GroupingName, groupingNames, type GroupRow, groupsOfFindings } from "../finding-groups.tsx";
import {
  Coverage,
  findingColumns,
  findingsOf,
  packageNamesFor,
  severities,
  SeverityCounts,
  severityIn,
  type SeverityName,
  severityNames,
  shownId,
} from "../findings.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Empty, Icon, Link, Section } from "../parts.tsx";
import { SelectField } from "../select-field.tsx";
import { texts } from "../texts/findings.ts";
import { historyOf, Trend } from "../trend.tsx";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const orders = { severity: "severity desc", epss: "epss desc", newest: "create_time desc", due: "exploit_due_date desc" } as const;
type OrderName = keyof typeof orders;
const orderNames: readonly OrderName[] = ["severity", "epss", "newest", "due"];

const origins = { base: "FROM_BASE_IMAGE_YES", own: "FROM_BASE_IMAGE_NO" } as const;
type OriginName = keyof typeof origins;
const originNames: readonly OriginName[] = ["base", "own"];

interface Filter {
  readonly by: GroupingName | undefined;
  readonly severity: SeverityName | undefined;
  readonly order: OrderName;
  readonly vulnerability: string;
  readonly packageName: string;
  readonly baseImage: string;
  readonly origin: OriginName | undefined;
  readonly exploited: boolean;
  readonly fixable: boolean;
  readonly inUse: boolean;
}

const filterIn = (url: URL): Filter => ({
  by: groupingNames.find((each) => each === url.searchParams.get("by")),
  severity: severityIn(url),
  order: orderNames.find((each) => each === url.searchParams.get("order")) ?? "severity",
  vulnerability: url.searchParams.get("vulnerability") ?? "",
  packageName: url.searchParams.get("package") ?? "",
  baseImage: url.searchParams.get("base") ?? "",
  origin: originNames.find((each) => each === url.searchParams.get("from")),
  exploited: url.searchParams.has("exploited"),
  fixable: url.searchParams.has("fixable"),
  inUse: url.searchParams.has("in-use"),
});

const addressOf = (url: URL, filter: Filter): string => {
  const { by, severity, order, vulnerability, packageName, baseImage, origin, exploited, fixable, inUse } = filter;
  return withParameters(url, {
    by,
    severity,
    order: order === "severity" ? undefined : order,
    vulnerability: vulnerability || undefined,
    package: packageName || undefined,
    base: baseImage || undefined,
    from: origin,
    exploited: exploited ? "" : undefined,
    fixable: fixable ? "" : undefined,
    "in-use": inUse ? "" : undefined,
    skip: undefined,
  });
};

const requestOf = (group: string, { severity, order, vulnerability, packageName, baseImage, origin, exploited, fixable, inUse }: Filter) => ({
  uidp: { descendantsOf: group },
  ...(severity === undefined ? {} : { minSeverity: severities[severity] }),
  ...(vulnerability === "" ? {} : { advisoryIds: [vulnerability] }),
  ...(packageName === "" ? {} : { packages: packageNamesFor(packageName) }),
  ...(baseImage === "" ? {} : { baseImages: [baseImage] }),
  ...(origin === undefined ? {} : { fromBaseImage: origins[origin] }),
  ...(exploited ? { exploited } : {}),
  ...(fixable ? { fixable } : {}),
  ...(inUse ? { inUse } : {}),
  orderBy: orders[order],
});

const columnsFor = (decide: ((finding: Finding) => void) | undefined): readonly Column<Finding>[] => [
  ...Object.values(findingColumns),
  ...(decide
    ? [
        {
          title: texts.decide,
          action: true,
          cell: (finding: Finding) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={texts.decideOn(shownId(finding), finding.packageName)}
              onClick={() => decide(finding)}
            >
              <span className="wide-only">{texts.decide}</span>
              <Icon name="shield" />
            </button>
          ),
        },
      ]
    : []),
];

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
        <SelectField
          label={texts.minSeverity}
          value={wanted.severity ?? ""}
          choices={[["", texts.anySeverity], ...severityNames.map((name) => [name, texts.severities[severities[name]]] as const)]}
          onChange={(severity) => change({ severity: severity === "" ? undefined : severity })}
        />
        <SelectField
          label={texts.order}
          value={wanted.order}
          choices={orderNames.map((name) => [name, texts.orders[name]])}
          onChange={(order) => change({ order })}
        />
        <SelectField
          label={texts.groupBy}
          value={wanted.by ?? ""}
          choices={[["", texts.notGrouped], ...groupingNames.map((name) => [name, texts.groupings[name]] as const)]}
          onChange={(by) => change({ by: by === "" ? undefined : by })}
        />
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
        <details className="more-filters" open={filter.baseImage !== "" || filter.origin !== undefined}>
          <summary>{texts.moreFilters}</summary>
          <div className="filters">
            <div className="field">
              <label htmlFor={`${id}-base`}>{texts.baseImage}</label>
              <input
                id={`${id}-base`}
                value={wanted.baseImage}
                aria-describedby={`${id}-base-about`}
                onChange={({ target }) => change({ baseImage: target.value.trim() })}
              />
              <p id={`${id}-base-about`} className="about">
                {texts.baseImageHint}
              </p>
            </div>
            <SelectField
              label={texts.layers}
              value={wanted.origin ?? ""}
              choices={[["", texts.anyLayers], ...originNames.map((name) => [name, texts.origins[name]] as const)]}
              onChange={(origin) => change({ origin: origin === "" ? undefined : origin })}
            />
          </div>
        </details>
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
  const uid = path.at(-1)?.uid ?? "";
  const skip = positionIn(url, "skip");
  const { by } = filter;
  const { orderBy, ...selected } = requestOf(uid, filter);
  const result = useAsk(by === undefined ? findingsOf({ ...selected, orderBy }, skip) : undefined);
  const grouped = useAsk(by === undefined ? undefined : groupsOfFindings({ ...selected, groupBy: groupings[by] }, skip));
  const history = useAsk(historyOf(uid));
  const mayDecide = useAsk(mine(uid)).data?.data.capabilities.includes(decideCapability) ?? false;
  const [decided, setDecided] = useState<Finding>();
  const place = path.at(-1);
  const { summary } = result.data?.data ?? {};
  const coverage = (result.data ?? grouped.data)?.data.coverage;
  const empty = (
    <Empty icon="shield" title={texts.noFindingsTitle}>
      <p>{texts.noFindingsText}</p>
    </Empty>
  );
  return (
    <GroupFrame names={names} path={path} current="findings" sent={[result.data?.sent, grouped.data?.sent, history.data?.sent]}>
      {coverage ? <Coverage coverage={coverage} /> : null}
      {summary && summary.severityCounts.length > 0 ? (
        <SeverityCounts counts={summary.severityCounts} addressFor={(severity) => addressOf(url, { ...filter, severity })} />
      ) : null}
      <FilterForm key={url.search} filter={filter} />
      {by === undefined ? (
        <ListSection
          title={texts.findings}
          result={result}
          itemsOf={(data) => data.findings}
          columns={columnsFor(mayDecide ? setDecided : undefined)}
          count={texts.findingCount}
          parameter="skip"
          empty={empty}
        />
      ) : (
        <ListSection
          title={texts.groupedBy[by]}
          result={grouped}
          itemsOf={(data) => data.groups.map((group): GroupRow => ({ ...group, uid: group.label }))}
          columns={groupColumns(by, (packageName) => addressOf(url, { ...filter, by: undefined, packageName }))}
          count={texts.groupCount}
          parameter="skip"
          empty={empty}
        />
      )}
      {history.data ? <Trend days={history.data.data.days} /> : null}
      {decided && place ? <DecideForm finding={decided} place={place} onClose={() => setDecided(undefined)} /> : null}
    </GroupFrame>
  );
};
