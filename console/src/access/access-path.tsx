// The path from the organization to a group, with the role bindings of each group on it.

import { type ReactNode, useState } from "react";
import type { RoleBinding } from "../../../client/package.ts";
import { addressOf } from "../address.ts";
import { useAsk } from "../api.ts";
import { type Column, Copy, Expiry, Failure, Icon, Link, Name, nameOr, Skeleton, Table } from "../parts.tsx";
import type { Place } from "../questions.ts";
import { texts } from "../texts/access.ts";
import { bindingsAt } from "./requests.ts";

interface StationProps {
  readonly place: Place;
  readonly names: readonly string[];
  readonly isHere: boolean;
  readonly children: ReactNode;
}

/** A group on the path. */
export const Station = ({ place, names, isHere, children }: StationProps): ReactNode => {
  const isOrganization = !place.uid.includes("/");
  return (
    <li className={isHere ? "station here" : "station"}>
      <div className="station-title">
        <Icon name="group" />
        {isHere ? <strong>{nameOr(place.name, place.uid)}</strong> : <Link href={addressOf(names, "access")}>{nameOr(place.name, place.uid)}</Link>}
        <span className="quiet">{isHere ? texts.thisGroup : isOrganization ? texts.organization : texts.group}</span>
      </div>
      {children}
    </li>
  );
};

export const identityName = ({ identity }: RoleBinding): string => identity?.name || identity?.email || "";

const columnsFor = (remove: ((binding: RoleBinding) => void) | undefined): readonly Column<RoleBinding>[] => [
  {
    title: texts.identity,
    cell: (binding) => (
      <span className="digest">
        <Icon name="user" />
        {nameOr(identityName(binding), binding.identityUid)}
        <Copy text={binding.identityUid} what="uid" />
      </span>
    ),
  },
  { title: texts.role, cell: ({ role, roleUid }) => <span className="role">{nameOr(role?.name ?? "", roleUid)}</span> },
  {
    title: texts.expires,
    cell: ({ expireTime }) => (expireTime === undefined ? <span className="quiet">{texts.noExpiry}</span> : <Expiry time={expireTime} />),
    minor: true,
  },
  ...(remove
    ? [
        {
          title: texts.remove,
          action: true,
          cell: (binding: RoleBinding) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={texts.removeOf(binding.role?.name ?? binding.roleUid, identityName(binding) || binding.identityUid)}
              onClick={() => remove(binding)}
            >
              <span className="wide-only">{texts.remove}</span>
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

interface BindingsProps {
  readonly place: Place;
  readonly names: readonly string[];
  readonly isHere: boolean;
  readonly remove: ((binding: RoleBinding) => void) | undefined;
}

const Bindings = ({ place, names, isHere, remove }: BindingsProps): ReactNode => {
  const result = useAsk(bindingsAt(place.uid));
  if (result.error) return <Failure error={result.error} retry={() => void result.refetch()} />;
  const data = result.data?.data;
  if (!data) return <Skeleton rows={2} />;
  const total = Number(data.totalCount ?? 0);
  if (total === 0) return <p className="quiet station-empty">{isHere ? texts.noBindingsHere : texts.noBindingsAbove}</p>;
  return (
    <>
      <Table caption={texts.bindingsOf(place.name)} columns={columnsFor(remove)} items={data.roleBindings} />
      {total > data.roleBindings.length ? (
        <p className="station-empty">
          <Link href={addressOf(names, "bindings")}>{texts.allBindings(total)}</Link>
        </p>
      ) : null}
    </>
  );
};

/** Waits for the user: a page sends few requests, however deep its group is. */
const OnRequest = ({ place, children }: { readonly place: Place; readonly children: ReactNode }): ReactNode => {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return children;
  return (
    <p className="station-empty">
      <button type="button" className="button quiet-button" onClick={() => setOpen(true)}>
        {texts.showBindings}
        <span className="unseen">
          {": "}
          <Name>{place.name}</Name>
        </span>
      </button>
    </p>
  );
};

interface AccessPathProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly remove: ((binding: RoleBinding) => void) | undefined;
}

export const AccessPath = ({ names, path, remove }: AccessPathProps): ReactNode => (
  <ol className="path">
    {path.map((place, index) => {
      const isHere = index === path.length - 1;
      const own = names.slice(0, index + 1);
      const bindings = <Bindings place={place} names={own} isHere={isHere} remove={isHere ? remove : undefined} />;
      return (
        <Station key={place.uid} place={place} names={own} isHere={isHere}>
          {isHere || index === 0 ? bindings : <OnRequest place={place}>{bindings}</OnRequest>}
        </Station>
      );
    })}
  </ol>
);
