// Libraries of a group: requests for the catalog, what submitted ones ask for, and the catalog. The view is in the address.

import type { ReactNode } from "react";
import type { RequestGroup } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { useAction } from "../action.tsx";
import { addressOf, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Catalog, CatalogVersions } from "../libraries/catalog.tsx";
import { Coverage, State, titleOf } from "../libraries/coverage.tsx";
import { Demand, DemandedVersions } from "../libraries/demand.tsx";
import { NewRequestForm } from "../libraries/forms.tsx";
import { RequestPage } from "../libraries/request.tsx";
import { requestsBelow } from "../libraries/requests.ts";
import { ListSection } from "../list-section.tsx";
import { type Column, Empty, Icon, Link, Name, Time } from "../parts.tsx";
import { type Names, PlaceLink, useNames } from "../places.tsx";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/libraries.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
  /** Returns the address of a request. */
  readonly addressFor: (uid: string) => string;
}

const columnsFor = ({ here, names, addressFor }: Where): readonly Column<RequestGroup>[] => [
  {
    title: texts.name,
    cell: (request) => (
      <Link className="words" href={addressFor(request.uid)} isSamePage>
        <Name>{titleOf(request)}</Name>
      </Link>
    ),
  },
  { title: texts.state, cell: ({ status }) => <State status={status} /> },
  { title: texts.inCatalog, cell: (request) => <Coverage request={request} /> },
  { title: texts.ecosystem, cell: ({ ecosystem }) => texts.ecosystems[ecosystem], minor: true },
  { title: texts.inGroup, cell: ({ parentId }) => <PlaceLink uid={parentId} here={here} names={names} page="libraries" />, minor: true },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
];

const createCapability = "libraries.request_groups.create";

const Requests = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const action = useAction();
  const here = path.at(-1)?.uid ?? "";
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const requests = useAsk(requestsBelow(here, positionIn(url, "skip")));
  const known = useNames(requests.data?.data.requestGroups.map(({ parentId }) => parentId) ?? [], path);
  const addressFor = (request: string): string => withParameters(new URL(addressOf(names, "libraries"), url), { request });
  const mayCreate = own.has(createCapability);
  return (
    <>
      <ListSection
        title={texts.requests}
        about={own.size === 0 || mayCreate ? texts.requestsText : `${texts.requestsText} ${texts.needs([createCapability])}`}
        action={
          mayCreate ? (
            <button type="button" className="button" onClick={() => action.open("new")}>
              <Icon name="plus" />
              {texts.newRequest}
            </button>
          ) : undefined
        }
        result={requests}
        itemsOf={(data) => data.requestGroups}
        columns={columnsFor({ here, names: known, addressFor })}
        count={texts.requestCount}
        parameter="skip"
        empty={
          <Empty icon="book" title={texts.noRequestsTitle}>
            <p>{texts.noRequestsText}</p>
          </Empty>
        }
      />
      <SameRequest sent={[requests.data?.sent]} />
      {action.current === "new" && mayCreate ? <NewRequestForm parent={here} addressFor={addressFor} onClose={action.close} /> : null}
    </>
  );
};

const views = [undefined, "demand", "catalog"] as const;

export const LibrariesPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const request = url.searchParams.get("request");
  const library = url.searchParams.get("library");
  const artifact = url.searchParams.get("artifact");
  const view = views.find((each) => each === url.searchParams.get("view"));
  if (request !== null) return <RequestPage key={request} names={names} path={path} uid={request} />;
  const body = (): ReactNode => {
    if (view === "demand") return library === null ? <Demand group={here} /> : <DemandedVersions group={here} library={library} />;
    if (view === "catalog") return artifact === null ? <Catalog /> : <CatalogVersions artifact={artifact} />;
    return <Requests names={names} path={path} />;
  };
  return (
    <GroupFrame names={names} path={path} current="libraries" sent={[]}>
      <nav className="states" aria-label={texts.views}>
        {views.map((each) => (
          <Link
            key={each ?? ""}
            className="button"
            href={withParameters(new URL(addressOf(names, "libraries"), url), { view: each })}
            isSamePage
            aria-current={each === view ? "true" : undefined}
          >
            {texts[each ?? "requests"]}
          </Link>
        ))}
      </nav>
      {body()}
    </GroupFrame>
  );
};
