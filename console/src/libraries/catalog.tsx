// Libraries of the catalog, and the versions of one.

import { type FormEvent, type ReactNode, useState } from "react";
import type { Artifact, ArtifactVersion } from "../../../client/package.ts";
import { navigate, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { sizeText } from "../format.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Link, Marked, Name, Time } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { TextField } from "../text-field.tsx";
import { texts } from "../texts/libraries.ts";
import { type CatalogFilter, catalogCounts, catalogWith, ecosystems, versionsOf } from "./requests.ts";

/** What the address filters the catalog by. */
const filterIn = (url: URL): CatalogFilter => ({
  ecosystem: ecosystems.find((each) => each === url.searchParams.get("ecosystem")),
  query: url.searchParams.get("query") ?? "",
  isRemediated: url.searchParams.has("remediated"),
});

const SearchForm = ({ first }: { readonly first: string }): ReactNode => {
  const url = useAddress();
  const [typed, setTyped] = useState(first);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    navigate(withParameters(url, { query: typed.trim() || undefined, skip: undefined }), true);
  };
  return (
    <search>
      <form className="search-form" onSubmit={submit}>
        <TextField label={texts.nameContains} value={typed} onChange={setTyped} />
        <button type="submit" className="button primary">
          {texts.search}
        </button>
      </form>
    </search>
  );
};

const columnsAt = (url: URL, query: string): readonly Column<Artifact>[] => [
  {
    title: texts.library,
    cell: ({ uid, name, description }) => (
      <>
        <Link className="long" href={withParameters(url, { artifact: uid, skip: undefined })} isSamePage>
          <Marked text={name} part={query} />
        </Link>
        {description === "" ? null : (
          <div className="under-badge quiet">
            <Name>{description}</Name>
          </div>
        )}
      </>
    ),
  },
  { title: texts.ecosystem, cell: ({ ecosystem }) => <Badge tone="plain">{texts.ecosystems[ecosystem]}</Badge>, minor: true },
  {
    title: texts.latest,
    cell: ({ latestVersion }) =>
      latestVersion === "" ? (
        <span className="quiet">{texts.none}</span>
      ) : (
        <span className="long">
          <Name>{latestVersion}</Name>
        </span>
      ),
  },
  { title: texts.versions, cell: ({ versionCount }) => texts.versionCount(versionCount), minor: true },
  { title: texts.updated, cell: ({ updateTime }) => <Time time={updateTime} />, minor: true },
];

export const Catalog = (): ReactNode => {
  const url = useAddress();
  const filter = filterIn(url);
  const result = useAsk(catalogWith(filter, positionIn(url, "skip")));
  const counts = useAsk(catalogCounts()).data;
  const numbers = new Map(counts?.data.counts.map(({ ecosystem, totalCount }) => [ecosystem, Number(totalCount)]));
  const titled = (title: string, number: number | undefined): string => (number === undefined ? title : texts.ecosystemCount(title, number));
  const all = counts ? [...numbers.values()].reduce((sum, each) => sum + each, 0) : undefined;
  return (
    <>
      <SearchForm key={filter.query} first={filter.query} />
      <nav className="states" aria-label={texts.ecosystem}>
        {[undefined, ...ecosystems].map((each) => (
          <Link
            key={each ?? ""}
            className="button"
            href={withParameters(url, { ecosystem: each, skip: undefined })}
            isSamePage
            aria-current={each === filter.ecosystem ? "true" : undefined}
          >
            {each === undefined ? titled(texts.allEcosystems, all) : titled(texts.ecosystems[each], numbers.get(each))}
          </Link>
        ))}
        <Link
          className="button"
          href={withParameters(url, { remediated: filter.isRemediated ? undefined : "", skip: undefined })}
          isSamePage
          aria-current={filter.isRemediated ? "true" : undefined}
        >
          {texts.remediated}
        </Link>
      </nav>
      <ListSection
        title={texts.catalog}
        about={texts.catalogText}
        result={result}
        itemsOf={(data) => data.artifacts}
        columns={columnsAt(url, filter.query)}
        count={texts.libraryCount}
        parameter="skip"
        empty={
          <Empty icon="book" title={texts.noLibrariesTitle}>
            <p>{texts.noLibrariesText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent, counts?.sent]} />
    </>
  );
};

const versionColumns: readonly Column<ArtifactVersion>[] = [
  {
    title: texts.version,
    cell: ({ version }) => (
      <span className="long">
        <Name>{version}</Name>
      </span>
    ),
  },
  { title: texts.published, cell: ({ createTime }) => <Time time={createTime} /> },
  { title: texts.size, cell: ({ sizeBytes }) => (Number(sizeBytes) === 0 ? <span className="quiet">{texts.unknown}</span> : sizeText(Number(sizeBytes))) },
  { title: texts.description, cell: ({ description }) => <Name>{description}</Name>, minor: true },
];

export const CatalogVersions = ({ artifact }: { readonly artifact: string }): ReactNode => {
  const url = useAddress();
  const result = useAsk(versionsOf(artifact, positionIn(url, "skip")));
  const name = result.data?.data.artifactVersions[0]?.name;
  return (
    <>
      <ListSection
        title={name === undefined ? texts.versions : texts.versionsOf(name)}
        action={
          <Link className="button quiet-button" href={withParameters(url, { artifact: undefined, skip: undefined })} isSamePage>
            {texts.allLibraries}
          </Link>
        }
        result={result}
        itemsOf={(data) => data.artifactVersions}
        columns={versionColumns}
        count={texts.versionCount}
        parameter="skip"
        empty={
          <Empty icon="tag" title={texts.noVersionsTitle}>
            <p>{texts.noVersionsText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};
