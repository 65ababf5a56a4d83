// One request: its state, its items, and what its user can do with it.

import { type ReactNode, useState } from "react";
import type { RequestGroup, RequestGroupItem } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { ActionButton, useAction } from "../action.tsx";
import { addressOf, positionIn, useAddress, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { Edit } from "../edit.tsx";
import { ListSection } from "../list-section.tsx";
import { Copy, Empty, Failure, Link, Name, nameOr, Section, Skeleton, Time } from "../parts.tsx";
import { type Names, parentOf, PlaceLink, useNames } from "../places.tsx";
import { GroupFrame, type GroupPageProps } from "../pages/group-frame.tsx";
import { texts } from "../texts/libraries.ts";
import { Coverage, itemCountOf, State, titleOf } from "./coverage.tsx";
import { RenameForm } from "./forms.tsx";
import { ChangeItem, itemColumns, RemoveBlocking } from "./items.tsx";
import { deleteRequest, itemsOf, refreshRequest, requestAt, submitRequest } from "./requests.ts";

/** States by their word in the address. */
const filters = {
  built: "AVAILABILITY_BUILT",
  missing: "AVAILABILITY_CAN_BE_REQUESTED",
  invalid: "AVAILABILITY_INVALID_REQUIREMENT",
} as const;
type FilterName = keyof typeof filters;
const filterNames: readonly FilterName[] = ["built", "missing", "invalid"];

interface DetailsProps {
  readonly request: RequestGroup;
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

const Who = ({ uid, names }: { readonly uid: string; readonly names: Names }): ReactNode =>
  uid === "" ? null : (
    <>
      {" "}
      {texts.by} {nameOr(names.get(uid)?.name ?? "", uid)}
    </>
  );

const Details = ({ request, here, names }: DetailsProps): ReactNode => {
  const { status, parentId, ecosystem, input, createTime, createdBy, submitTime, submittedBy, itemsUpdateTime, forCveRemediation } = request;
  const format = input === undefined ? "" : texts.formats[input.format];
  return (
    <div className="details">
      <dl>
        <dt>{texts.state}</dt>
        <dd>
          <State status={status} />
        </dd>
        <dt>{texts.inCatalog}</dt>
        <dd>
          <Coverage request={request} />
        </dd>
        <dt>{texts.inGroup}</dt>
        <dd>
          <PlaceLink uid={parentId} here={here} names={names} page="libraries" />
        </dd>
        <dt>{texts.source}</dt>
        <dd className="long">
          {request.source === "REQUEST_SOURCE_API" ? texts.fromItems : <Name>{input?.filename || format}</Name>} · {texts.ecosystems[ecosystem]}
        </dd>
        <dt>{texts.createdBy}</dt>
        <dd>
          <Time time={createTime} />
          <Who uid={createdBy} names={names} />
        </dd>
        {submitTime === undefined ? null : (
          <>
            <dt>{texts.submittedAt}</dt>
            <dd>
              <Time time={submitTime} />
              <Who uid={submittedBy} names={names} />
            </dd>
          </>
        )}
        <dt>{texts.itemsChanged}</dt>
        <dd>
          <Time time={itemsUpdateTime} />
        </dd>
        {forCveRemediation ? (
          <>
            <dt>{texts.vulnerabilities}</dt>
            <dd>{texts.wantsFixes}</dd>
          </>
        ) : null}
      </dl>
    </div>
  );
};

const capability = (name: string): string => `libraries.request_groups.${name}`;

/** What the state of a request permits. */
const permittedIn = (request: RequestGroup | undefined, own: ReadonlySet<string>) => {
  const isDraft = request !== undefined && request.submitTime === undefined;
  const may = (name: string): boolean => request !== undefined && own.has(capability(name));
  const blocking = request?.availabilitySummary?.blockingSubmit ?? 0;
  const isEmpty = request !== undefined && itemCountOf(request) === 0;
  return {
    isDraft,
    blocking: isDraft ? blocking : 0,
    isEmpty: isDraft && isEmpty,
    rename: may("update"),
    items: isDraft && may("items.update"),
    submit: isDraft && blocking === 0 && !isEmpty && may("submit"),
    refresh: may("refresh_coverage"),
    remove: may("delete") && (isDraft || may("delete_submitted")),
    lacking: own.size === 0 ? [] : ["update", "delete", ...(isDraft ? ["submit", "items.update"] : [])].map(capability).filter((each) => !own.has(each)),
  };
};

export const RequestPage = ({ names, path, uid }: GroupPageProps & { readonly uid: string }): ReactNode => {
  const url = useAddress();
  const action = useAction();
  const here = path.at(-1)?.uid ?? "";
  const filter = filterNames.find((each) => each === url.searchParams.get("state"));
  const own = new Set(useAsk(mine(parentOf(uid))).data?.data.capabilities);
  const read = useAsk(requestAt(uid));
  const items = useAsk(itemsOf(uid, filter && filters[filter], positionIn(url, "skip")));
  const request = read.data?.data.resource;
  const known = useNames(request ? [request.parentId, request.createdBy, request.submittedBy] : [], path);
  const [chosen, setChosen] = useState<RequestGroupItem>();
  const permitted = permittedIn(request, own);
  const title = request ? titleOf(request) : texts.requests;
  const list = addressOf(names, "libraries");
  return (
    <GroupFrame names={names} path={path} current="libraries" sent={[read.data?.sent, items.data?.sent]}>
      <nav className="states" aria-label={texts.views}>
        <Link className="button" href={list} isSamePage>
          {texts.allRequests}
        </Link>
      </nav>
      <Section
        title={title}
        action={
          request ? (
            <span className="actions">
              <Copy text={uid} what="uid" />
              {permitted.rename ? <ActionButton icon="edit" title={texts.rename} onClick={() => action.open("rename")} /> : null}
              {permitted.refresh ? <ActionButton icon="redo" title={texts.refresh} onClick={() => action.open("refresh")} /> : null}
              {permitted.remove ? <ActionButton icon="trash" title={texts.delete} onClick={() => action.open("delete")} /> : null}
              {permitted.submit ? (
                <button type="button" className="button primary" onClick={() => action.open("submit")}>
                  {texts.submit}
                </button>
              ) : null}
            </span>
          ) : undefined
        }
      >
        {permitted.lacking.length === 0 ? null : <p className="about section-about">{texts.needs(permitted.lacking)}</p>}
        {read.error ? <Failure error={read.error} retry={() => void read.refetch()} /> : null}
        {request ? <Details request={request} here={here} names={known} /> : read.error ? null : <Skeleton />}
      </Section>
      {permitted.blocking > 0 ? (
        <div className="banner plain" role="status">
          <p>{texts.blocking(permitted.blocking)}</p>
          {permitted.items ? (
            <button type="button" className="button" onClick={() => action.open("remove-invalid")}>
              {texts.removeBlocking}
            </button>
          ) : null}
        </div>
      ) : null}
      {permitted.isEmpty ? (
        <p className="notice" role="status">
          {texts.nothingLeft}
        </p>
      ) : null}
      <nav className="states" aria-label={texts.itemStates}>
        {[undefined, ...filterNames].map((each) => (
          <Link
            key={each ?? ""}
            href={withParameters(url, { state: each, skip: undefined })}
            isSamePage
            aria-current={each === filter ? "true" : undefined}
            className="button"
          >
            {each === undefined ? texts.anyState : texts.availabilities[filters[each]]}
          </Link>
        ))}
      </nav>
      <ListSection
        title={texts.items}
        result={items}
        itemsOf={(data) => data.requestGroupItems}
        columns={itemColumns(names, permitted.items ? setChosen : undefined)}
        count={texts.itemCount}
        parameter="skip"
        empty={
          <Empty icon="check" title={texts.noItemsTitle}>
            <p>{texts.noItemsText}</p>
          </Empty>
        }
      />
      {chosen ? <ChangeItem request={uid} item={chosen} onClose={() => setChosen(undefined)} /> : null}
      {action.current === "remove-invalid" && permitted.items ? <RemoveBlocking request={uid} onClose={action.close} /> : null}
      {action.current === "rename" && permitted.rename ? (
        <Edit
          title={texts.renameRequest}
          read={requestAt(uid)}
          form={(version) => <RenameForm version={version} onClose={action.close} />}
          onClose={action.close}
        />
      ) : null}
      {action.current === "submit" && permitted.submit ? (
        <Confirm
          title={texts.submitRequest}
          about={<Name>{title}</Name>}
          effect={texts.submitText}
          question={submitRequest(uid)}
          done={texts.requestSubmitted}
          isDangerous={false}
          onClose={action.close}
        />
      ) : null}
      {action.current === "refresh" && permitted.refresh ? (
        <Confirm
          title={texts.refreshRequest}
          about={<Name>{title}</Name>}
          effect={texts.refreshText}
          question={refreshRequest(uid)}
          done={texts.requestRefreshed}
          isDangerous={false}
          onClose={action.close}
        />
      ) : null}
      {action.current === "delete" && permitted.remove ? (
        <Confirm
          title={texts.deleteRequest}
          about={<Name>{title}</Name>}
          effect={texts.deleteRequestText}
          question={deleteRequest(uid)}
          done={texts.requestDeleted}
          deletes={{ uid, name: title }}
          next={list}
          onClose={action.close}
        />
      ) : null}
    </GroupFrame>
  );
};
