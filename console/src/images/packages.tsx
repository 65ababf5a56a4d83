// Packages of an image, each with its layer.

import { type FormEvent, type ReactNode, useId, useState } from "react";
import type { ImagePackage } from "../../../client/package.ts";
import { navigate, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { shortDigest } from "../format.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Link, Name, Section } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/images.ts";
import { type ImageRef, type PackageFilter, packagesOf } from "./requests.ts";

const packageFilterIn = (url: URL): PackageFilter => ({
  name: url.searchParams.get("name") ?? "",
  type: url.searchParams.get("type") ?? "",
  layer: url.searchParams.get("layer") ?? "",
});

const FilterForm = ({ filter }: { readonly filter: PackageFilter }): ReactNode => {
  const url = useAddress();
  const id = useId();
  const [name, setName] = useState(filter.name);
  const [type, setType] = useState(filter.type);
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    navigate(withParameters(url, { name: name || undefined, type: type || undefined, skip: undefined }), true);
  };
  return (
    <Section title={texts.filter}>
      <form className="fields filters" onSubmit={submit}>
        <div className="field">
          <label htmlFor={`${id}-name`}>{texts.packageName}</label>
          <input id={`${id}-name`} value={name} aria-describedby={`${id}-name-about`} onChange={({ target }) => setName(target.value.trim())} />
          <p id={`${id}-name-about`} className="about">
            {texts.packageHint}
          </p>
        </div>
        <div className="field">
          <label htmlFor={`${id}-type`}>{texts.packageType}</label>
          <input id={`${id}-type`} value={type} aria-describedby={`${id}-type-about`} onChange={({ target }) => setType(target.value.trim())} />
          <p id={`${id}-type-about`} className="about">
            {texts.packageTypeHint}
          </p>
        </div>
        {filter.layer === "" ? null : (
          <p className="checks">
            <span>
              {texts.layer} <code title={filter.layer}>{shortDigest(filter.layer)}</code>
            </span>
            <Link href={withParameters(url, { layer: undefined, skip: undefined })} isSamePage>
              {texts.allLayers}
            </Link>
          </p>
        )}
        <div className="form-actions">
          <Link className="button" href={withParameters(url, { name: undefined, type: undefined, layer: undefined, skip: undefined })} isSamePage>
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

type Row = ImagePackage & { readonly uid: string };

const columnsAt = (url: URL): readonly Column<Row>[] => [
  {
    title: texts.packageName,
    cell: ({ name, purl }) => (
      <span className="long" title={purl}>
        <Name>{name}</Name>
      </span>
    ),
  },
  {
    title: texts.version,
    cell: ({ version }) => (
      <span className="long">
        <Name>{version}</Name>
      </span>
    ),
  },
  { title: texts.packageType, cell: ({ type }) => <Badge tone="plain">{type}</Badge>, minor: true },
  {
    title: texts.layer,
    cell: ({ layer, layerPosition }) =>
      layer === "" ? (
        <span className="quiet">{texts.onlySbom}</span>
      ) : (
        <Link className="one-line" href={withParameters(url, { layer, skip: undefined })} isSamePage title={layer}>
          {texts.layerNumber(layerPosition)}
        </Link>
      ),
  },
  {
    title: texts.path,
    cell: ({ path }) => (
      <span className="long">
        <Name>{path}</Name>
      </span>
    ),
    minor: true,
  },
];

export const Packages = ({ image }: { readonly image: ImageRef }): ReactNode => {
  const url = useAddress();
  const filter = packageFilterIn(url);
  const result = useAsk(packagesOf(image, filter, positionIn(url, "skip")));
  return (
    <>
      <FilterForm key={url.search} filter={filter} />
      <ListSection
        title={texts.packages}
        result={result}
        itemsOf={(data) => data.packages.map((each, index): Row => ({ ...each, uid: `${index} ${each.purl}` }))}
        columns={columnsAt(url)}
        count={texts.packageCount}
        parameter="skip"
        empty={
          <Empty icon="repo" title={texts.noPackagesTitle}>
            <p>{texts.noPackagesText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};
