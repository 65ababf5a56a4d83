// The account association of a group, and those of the groups below it.

import { type ReactNode, useState } from "react";
import type { AccountAssociation } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { addressOf, positionIn, replaceAddress, useAddress, withParameter, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { AssociationForm } from "../associations/association-form.tsx";
import { Accounts, accountsOf } from "../associations/details.tsx";
import { associationAt, associationOf, associationsBelow, deleteAssociation } from "../associations/requests.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Empty, Failure, Icon, Link, Name, Section, Skeleton, Time } from "../parts.tsx";
import { type Names, PlaceLink, useNames } from "../places.tsx";
import { texts } from "../texts/associations.ts";
import { Edit } from "../edit.tsx";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

const columnsFor = (where: Where): readonly Column<AccountAssociation>[] => [
  {
    title: texts.name,
    cell: ({ uid, name, description }) => (
      <>
        <Link className="words" href={addressOf(uid.split("/"), "associations")}>
          <Name>{name}</Name>
        </Link>
        {description === "" ? null : (
          <div className="under-badge quiet">
            <Name>{description}</Name>
          </div>
        )}
      </>
    ),
  },
  {
    title: texts.accounts,
    cell: (association) => {
      const accounts = accountsOf(association);
      return accounts.length === 0 ? (
        <span className="quiet">{texts.noAccounts}</span>
      ) : (
        <ul className="plain-list">
          {accounts.map((account) => (
            <li key={account}>
              <Name>{account}</Name>
            </li>
          ))}
        </ul>
      );
    },
  },
  { title: texts.inGroup, cell: ({ uid }) => <PlaceLink uid={uid} {...where} />, minor: true },
  { title: texts.updated, cell: ({ updateTime }) => <Time time={updateTime} />, minor: true },
];

const changing = ["account_associations.create", "account_associations.update", "account_associations.delete"] as const;

export const AssociationsPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1) ?? { uid: "", name: "" };
  const own = new Set(useAsk(mine(here.uid)).data?.data.capabilities);
  const held = useAsk(associationOf(here.uid));
  const below = useAsk(associationsBelow(here.uid, positionIn(url, "skip")));
  const known = useNames(below.data?.data.accountAssociations.map(({ uid }) => uid) ?? [], path);
  const [removing, setRemoving] = useState<AccountAssociation>();
  const association = held.data?.data.accountAssociations[0];
  const lacking = changing.filter((name) => !own.has(name));
  const about = own.size === 0 || lacking.length === 0 ? texts.associationsText : `${texts.associationsText} ${texts.changeNeeds(lacking)}`;
  const mayAdd = held.isSuccess && association === undefined && own.has("account_associations.create");
  const mayChange = association !== undefined && own.has("account_associations.update");
  const open = (form: "add" | "edit"): void => replaceAddress(withParameter(url, form, ""));
  const close = (): void => replaceAddress(withParameters(url, { add: undefined, edit: undefined }));
  const action = (
    <span className="actions">
      {mayAdd ? (
        <button type="button" className="button" onClick={() => open("add")}>
          <Icon name="plus" />
          {texts.addAssociation}
        </button>
      ) : null}
      {mayChange ? (
        <button type="button" className="button" onClick={() => open("edit")}>
          <Icon name="edit" />
          {texts.change}
        </button>
      ) : null}
      {association && own.has("account_associations.delete") ? (
        <button type="button" className="button danger" onClick={() => setRemoving(association)}>
          {texts.delete}
        </button>
      ) : null}
    </span>
  );
  const body = (): ReactNode => {
    if (held.error) return <Failure error={held.error} retry={() => void held.refetch()} />;
    if (!held.data) return <Skeleton />;
    if (association) return <Accounts key={association.updateTime} association={association} />;
    return (
      <Empty icon="key" title={texts.noAssociationTitle}>
        <p>{texts.noAssociationText}</p>
      </Empty>
    );
  };
  return (
    <GroupFrame names={names} path={path} current="associations" sent={[held.data?.sent, below.data?.sent]}>
      <Section title={texts.accountsOfGroup} action={action}>
        <p className="about section-about">{about}</p>
        {body()}
      </Section>
      <ListSection
        title={texts.accountsBelow}
        result={below}
        itemsOf={(data) => data.accountAssociations}
        columns={columnsFor({ here: here.uid, names: known })}
        count={texts.associationCount}
        parameter="skip"
        empty={
          <Empty icon="group" title={texts.noneBelowTitle}>
            <p>{texts.noneBelowText}</p>
          </Empty>
        }
      />
      {mayAdd && url.searchParams.has("add") ? <AssociationForm place={here} onClose={close} /> : null}
      {mayChange && url.searchParams.has("edit") ? (
        <Edit
          title={texts.changeAssociation}
          read={associationAt(here.uid)}
          form={(version) => <AssociationForm place={here} version={version} onClose={close} />}
          onClose={close}
        />
      ) : null}
      {removing ? (
        <Confirm
          title={texts.deleteAssociation}
          about={
            <>
              <Name>{removing.name}</Name> <bdi className="quiet">{accountsOf(removing).join(", ")}</bdi>
            </>
          }
          effect={texts.deleteAssociationText}
          question={deleteAssociation(removing.uid)}
          done={texts.associationDeleted}
          deletes={{ uid: removing.uid, name: removing.name, group: removing.uid }}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
