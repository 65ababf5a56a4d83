// Identities, roles and role bindings of a group, as tables.

import type { ReactNode } from "react";
import type { Identity, Role, RoleBinding } from "../../../client/package.ts";
import { type ListName, positionIn, useAddress } from "../address.ts";
import { type Question, useAsk } from "../api.ts";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, Expiry, Name, nameOr, Time } from "../parts.tsx";
import { bindingsIn, identitiesIn, type Place, rolesIn } from "../questions.ts";
import { SameRequest } from "../same-request.tsx";
import { texts } from "../texts/lists.ts";
import { GroupHeading } from "./group-heading.tsx";

interface ListPageProps {
  readonly names: readonly string[];
  readonly path: readonly Place[];
  readonly list: ListName;
}

const kindOf = (identity: Identity): string => {
  if (identity.claimMatch) return texts.claimMatch;
  if (identity.staticKeys) return texts.staticKeys;
  if (identity.awsIdentity) return texts.aws;
  return identity.servicePrincipal === undefined || identity.servicePrincipal === "SERVICE_PRINCIPAL_UNSPECIFIED" ? texts.person : texts.service;
};

const identityColumns: readonly Column<Identity>[] = [
  {
    title: texts.name,
    cell: ({ uid, name, email }) => (
      <span className="digest">
        {nameOr(name || email, uid)}
        <Copy text={uid} what="uid" />
      </span>
    ),
  },
  { title: texts.kind, cell: kindOf },
  { title: texts.lastUsed, cell: ({ lastSeenTime }) => <Time time={lastSeenTime} /> },
  { title: texts.expires, cell: ({ expireTime }) => <Expiry time={expireTime} />, minor: true },
];

const roleColumns: readonly Column<Role>[] = [
  {
    title: texts.name,
    cell: ({ uid, name }) => (
      <span className="digest">
        {nameOr(name, uid)}
        <Copy text={uid} what="uid" />
      </span>
    ),
  },
  { title: texts.description, cell: ({ description }) => <Name>{description}</Name>, minor: true },
  { title: texts.capabilities, cell: ({ capabilities }) => texts.capabilityCount(capabilities.length) },
];

const bindingColumns: readonly Column<RoleBinding>[] = [
  {
    title: texts.identity,
    cell: ({ identity, identityUid }) => (
      <span className="digest">
        {nameOr(identity?.name || identity?.email || "", identityUid)}
        <Copy text={identityUid} what="uid" />
      </span>
    ),
  },
  { title: texts.role, cell: ({ role, roleUid }) => nameOr(role?.name ?? "", roleUid) },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  { title: texts.expires, cell: ({ expireTime }) => <Expiry time={expireTime} /> },
];

interface GroupListProps<Data, Item> {
  readonly title: string;
  readonly question: (parent: string, skip: number) => Question<Data>;
  readonly itemsOf: (data: Data) => readonly Item[];
  readonly columns: readonly Column<Item>[];
  readonly count: (total: number) => string;
  readonly empty: ReactNode;
  readonly uid: string;
}

const GroupList = <Data extends { readonly totalCount?: string }, Item extends { readonly uid: string }>({
  question,
  uid,
  ...section
}: GroupListProps<Data, Item>): ReactNode => {
  const result = useAsk(question(uid, positionIn(useAddress(), "skip")));
  return (
    <>
      <ListSection {...section} result={result} parameter="skip" />
      <SameRequest sent={[result.data?.sent]} />
    </>
  );
};

const Identities = ({ uid }: { readonly uid: string }): ReactNode => (
  <GroupList
    uid={uid}
    title={texts.identities}
    question={identitiesIn}
    itemsOf={(data) => data.identities}
    columns={identityColumns}
    count={texts.identityCount}
    empty={
      <Empty icon="user" title={texts.noIdentitiesTitle}>
        <p>{texts.noIdentitiesText}</p>
        <a className="button" href="/docs/guides/ci-identities">
          {texts.ciIdentities}
        </a>
      </Empty>
    }
  />
);

const Roles = ({ uid }: { readonly uid: string }): ReactNode => (
  <GroupList
    uid={uid}
    title={texts.roles}
    question={rolesIn}
    itemsOf={(data) => data.roles}
    columns={roleColumns}
    count={texts.roleCount}
    empty={
      <Empty icon="shield" title={texts.noRolesTitle}>
        <p>{texts.noRolesText}</p>
        <a className="button" href="/docs/reference/roles">
          {texts.builtInRoles}
        </a>
      </Empty>
    }
  />
);

const Bindings = ({ uid }: { readonly uid: string }): ReactNode => (
  <GroupList
    uid={uid}
    title={texts.bindings}
    question={bindingsIn}
    itemsOf={(data) => data.roleBindings}
    columns={bindingColumns}
    count={texts.bindingCount}
    empty={
      <Empty icon="key" title={texts.noBindingsTitle}>
        <p>{texts.noBindingsText}</p>
        <a className="button" href="/docs/concepts/access-model">
          {texts.accessModel}
        </a>
      </Empty>
    }
  />
);

const lists = { identities: Identities, roles: Roles, bindings: Bindings };

export const ListPage = ({ names, path, list }: ListPageProps): ReactNode => {
  const List = lists[list];
  return (
    <>
      <GroupHeading names={names} path={path} current={list} />
      <List uid={path.at(-1)?.uid ?? ""} />
    </>
  );
};
