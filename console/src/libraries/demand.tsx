// Libraries that submitted requests ask for, and the requested versions of one.

import type { ReactNode } from "react";
import type { RequestedLibrary, RequestedLibraryVersion, RequestGroupRef } from "../../../client/package.ts";
import { positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { Badge, type Column, Empty, Link, Name, nameOr, Time } from "../parts.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/libraries.ts";
import { Share } from "./coverage.tsx";
import { Available, Upgrades } from "./items.tsx";
import { demandBelow, demandedVersions, ecosystems } from "./requests.ts";

/** Links to requests. */
const Requests = ({ url, groups }: { readonly url: URL; readonly groups: readonly RequestGroupRef[] }): ReactNode => (
  <ul className="plain-list">
    {groups.map(({ uid, name }) => (
      <li key={uid}>
        <Link href={withParameters(url, { view: undefined, library: undefined, ecosystem: undefined, skip: undefined, request: uid })} isSamePage>
          {nameOr(name, uid.slice(uid.lastIndexOf("/") + 1))}
        </Link>
      </li>
    ))}
  </ul>
);

const libraryColumns = (url: URL): readonly Column<RequestedLibrary>[] => [
  {
    title: texts.library,
    cell: ({ name, ecosystem }) => (
      <Link className="long" href={withParameters(url, { library: name, ecosystem, skip: undefined })} isSamePage>
        <Name>{name}</Name>
      </Link>
    ),
  },
  { title: texts.ecosystem, cell: ({ ecosystem }) => <Badge tone="plain">{texts.ecosystems[ecosystem]}</Badge>, minor: true },
  { title: texts.inCatalog, cell: ({ builtVersionCount, requestedVersionCount }) => <Share built={builtVersionCount} all={requestedVersionCount} /> },
  { title: texts.lastRequested, cell: ({ lastRequestTime }) => <Time time={lastRequestTime} />, minor: true },
];

export const Demand = ({ group }: { readonly group: string }): ReactNode => {
  const url = useAddress();
  const result = useAsk(demandBelow(group, positionIn(url, "skip")));
  return (
    <>
      <ListSection
        title={texts.demand}
        about={texts.demandText}
        result={result}
        itemsOf={(data) => data.requestedLibraries}
        columns={libraryColumns(url)}
        count={texts.libraryCount}
        parameter="skip"
        empty={
          <Empty icon="book" title={texts.noDemandTitle}>
            <p>{texts.noDemandText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};

const versionColumns = (url: URL): readonly Column<RequestedLibraryVersion>[] => [
  {
    title: texts.version,
    cell: ({ version }) => (
      <span className="long">
        <Name>{version}</Name>
      </span>
    ),
  },
  { title: texts.state, cell: ({ availability, availabilityReason }) => <Available availability={availability} reason={availabilityReason} /> },
  { title: texts.upgrades, cell: ({ upgrade }) => <Upgrades upgrade={upgrade} />, minor: true },
  { title: texts.requestedIn, cell: ({ contributingGroups }) => <Requests url={url} groups={contributingGroups} /> },
  { title: texts.lastRequested, cell: ({ lastRequestTime }) => <Time time={lastRequestTime} />, minor: true },
];

export const DemandedVersions = ({ group, library }: { readonly group: string; readonly library: string }): ReactNode => {
  const url = useAddress();
  const ecosystem = ecosystems.find((each) => each === url.searchParams.get("ecosystem")) ?? ecosystems[0];
  const result = useAsk(demandedVersions(group, ecosystem, library, positionIn(url, "skip")));
  return (
    <>
      <ListSection
        title={texts.versionsOf(library)}
        action={
          <Link className="button quiet-button" href={withParameters(url, { library: undefined, ecosystem: undefined, skip: undefined })} isSamePage>
            {texts.allLibraries}
          </Link>
        }
        result={result}
        itemsOf={(data) => data.requestedLibraryVersions}
        columns={versionColumns(url)}
        count={texts.versionCount}
        parameter="skip"
        empty={
          <Empty icon="book" title={texts.noDemandTitle}>
            <p>{texts.noDemandText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};
