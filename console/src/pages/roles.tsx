// Roles of a group: custom ones, or the built-in ones. Which are shown, and the open one, are in the address.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiError, type Role } from "../../../client/package.ts";
import { CapabilityList } from "../access/capability-list.tsx";
import { mine } from "../access/requests.ts";
import { nameOfSymbol } from "../access/symbols.ts";
import { isUid, navigate, positionIn, replaceAddress, useAddress, withParameter, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, Failure, Icon, Link, Name, Skeleton, Time } from "../parts.tsx";
import { isBelow, type Names, parentOf, PlaceLink, ScopeLinks, scopeIn, useNames } from "../places.tsx";
import { bindingsWith, deleteRole, roleAt, rolesAt } from "../roles/requests.ts";
import { RoleForm } from "../roles/role-form.tsx";
import { Edit } from "../edit.tsx";
import type { Version } from "../conflict.tsx";
import { texts } from "../texts/roles.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const builtInView = "built-in";

const isCustom = ({ uid }: Role): boolean => uid.includes("/");

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

interface Actions {
  readonly edit?: (role: Role) => void;
  readonly remove?: (role: Role) => void;
}

/** Custom roles of the group and below: permissions of the caller here hold there, too. */
const isWithin = (role: Role, here: string): boolean => isCustom(role) && `${parentOf(role.uid)}/`.startsWith(`${here}/`);

const columnsFor = (url: URL, where: Where, { edit, remove }: Actions, isBuiltIn: boolean): readonly Column<Role>[] => [
  {
    title: texts.name,
    cell: ({ uid, name, description }) => (
      <>
        <Link className="words" href={withParameter(url, "role", uid)} isSamePage>
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
  { title: texts.capabilities, cell: ({ capabilities }) => texts.capabilityCount(capabilities.length) },
  ...(isBuiltIn
    ? []
    : [
        { title: texts.inGroup, cell: ({ uid }: Role) => <PlaceLink uid={parentOf(uid)} page="roles" {...where} /> },
        { title: texts.updated, cell: ({ updateTime }: Role) => <Time time={updateTime} />, minor: true },
      ]),
  ...(!isBuiltIn && (edit || remove)
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (role: Role) =>
            isWithin(role, where.here) ? (
              <>
                {edit ? (
                  <button type="button" className="button quiet-button" aria-label={texts.editRoleOf(role.name)} onClick={() => edit(role)}>
                    <Icon name="edit" />
                  </button>
                ) : null}
                {remove ? (
                  <button type="button" className="button quiet-button" aria-label={texts.deleteRoleOf(role.name)} onClick={() => remove(role)}>
                    <Icon name="trash" />
                  </button>
                ) : null}
              </>
            ) : null,
        },
      ]
    : []),
];

const Facts = ({ role, where }: { readonly role: Role; readonly where: Where }): ReactNode => {
  const uses = useAsk(bindingsWith(role.uid)).data?.data.totalCount;
  return (
    <>
      <dl>
        {role.description === "" ? null : (
          <>
            <dt>{texts.description}</dt>
            <dd>
              <Name>{role.description}</Name>
            </dd>
          </>
        )}
        <dt>uid</dt>
        <dd className="long">
          <code>{role.uid}</code> <Copy text={role.uid} what="uid" />
        </dd>
        {isCustom(role) ? (
          <>
            <dt>{texts.inGroup}</dt>
            <dd>
              <PlaceLink uid={parentOf(role.uid)} {...where} />
            </dd>
            <dt>{texts.created}</dt>
            <dd>
              <Time time={role.createTime} />
            </dd>
            <dt>{texts.updated}</dt>
            <dd>
              <Time time={role.updateTime} />
            </dd>
          </>
        ) : null}
        <dt>{texts.uses}</dt>
        <dd>{uses === undefined ? null : texts.usesOf(Number(uses))}</dd>
      </dl>
      <h3>
        {texts.capabilities} <span className="count">{texts.capabilityCount(role.capabilities.length)}</span>
      </h3>
      <CapabilityList capabilities={role.capabilities.map(nameOfSymbol)} />
    </>
  );
};

interface DetailsProps extends Actions {
  readonly result: ReturnType<typeof useAsk<Version<Role>>>;
  readonly where: Where;
}

const Details = ({ result, where, edit, remove }: DetailsProps): ReactNode => {
  const url = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  const role = result.data?.data.resource;
  const isLoaded = role !== undefined;
  useEffect(() => {
    if (isLoaded) heading.current?.focus();
  }, [isLoaded]);
  const isOwn = role !== undefined && isWithin(role, where.here);
  return (
    <section className="card details" aria-label={role?.name ?? texts.roles}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {role ? <Name>{role.name}</Name> : texts.roles}
        </h2>
        <span className="actions">
          {isOwn && edit ? (
            <button type="button" className="button" onClick={() => edit(role)}>
              <Icon name="edit" />
              {texts.edit}
            </button>
          ) : null}
          {isOwn && remove ? (
            <button type="button" className="button danger" onClick={() => remove(role)}>
              {texts.delete}
            </button>
          ) : null}
          <button type="button" className="copy" aria-label={texts.close} onClick={() => navigate(withParameter(url, "role", undefined), true)}>
            <Icon name="close" />
          </button>
        </span>
      </header>
      {result.error instanceof ApiError && result.error.code === "NOT_FOUND" ? (
        <Empty icon="warning" title={texts.notFoundTitle}>
          <p>{texts.gone}</p>
        </Empty>
      ) : result.error ? (
        <Failure error={result.error} retry={() => void result.refetch()} />
      ) : role ? (
        <Facts role={role} where={where} />
      ) : (
        <Skeleton rows={6} />
      )}
    </section>
  );
};

interface RemovalProps {
  readonly role: Role;
  readonly onClose: () => void;
  readonly onDone: () => void;
}

const Removal = ({ role, onClose, onDone }: RemovalProps): ReactNode => {
  const uses = useAsk(bindingsWith(role.uid)).data?.data.totalCount;
  return (
    <Confirm
      title={texts.deleteRole}
      about={<Name>{role.name}</Name>}
      effect={uses === undefined ? texts.countingUses : uses === "0" ? texts.unused : texts.usedBy(Number(uses))}
      question={deleteRole(role.uid)}
      done={texts.roleDeleted}
      deletes={role}
      onClose={onClose}
      onDone={onDone}
    />
  );
};

const changing = ["roles.create", "roles.update", "roles.delete"] as const;

export const RolesPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const place = path.at(-1) ?? { uid: "", name: "" };
  const here = place.uid;
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const isBuiltIn = url.searchParams.get("view") === builtInView;
  const result = useAsk(rolesAt(isBuiltIn ? { inRoot: true } : scopeIn(url, here), positionIn(url, "skip")));
  const opened = url.searchParams.get("role") ?? "";
  const open = useAsk(isUid(opened) ? roleAt(opened) : undefined);
  const edited = url.searchParams.get("edit") ?? "";
  const [removing, setRemoving] = useState<Role>();
  const shown = [...(result.data?.data.roles ?? []), ...(open.data ? [open.data.data.resource] : [])].filter(isCustom);
  const known = useNames(result.isFetched ? shown.map(({ uid }) => parentOf(uid)) : [], path);
  const where = { here, names: known };
  const lacking = changing.filter((name) => !own.has(name));
  const mayAdd = own.has("roles.create");
  const mayEdit = own.has("roles.update");
  const actions: Actions = {
    ...(mayEdit ? { edit: ({ uid }) => replaceAddress(withParameter(url, "edit", uid)) } : {}),
    ...(own.has("roles.delete") ? { remove: setRemoving } : {}),
  };
  const close = (): void => replaceAddress(withParameters(url, { add: undefined, edit: undefined }));
  return (
    <GroupFrame names={names} path={path} current="roles" sent={[result.data?.sent, isUid(opened) ? open.data?.sent : undefined]}>
      <div className="scope">
        <ScopeLinks label={texts.kindsOfRoles} positions={["skip"]} others={[[builtInView, texts.builtIn]]} />
        <p className="quiet">{isBuiltIn ? texts.rolesBuiltIn : isBelow(url) ? texts.rolesBelow : texts.rolesHere}</p>
      </div>
      {isUid(opened) ? <Details key={opened} result={open} where={where} {...actions} /> : null}
      <ListSection
        title={texts.roles}
        {...(isBuiltIn || own.size === 0 || lacking.length === 0 ? {} : { about: texts.changeNeeds(lacking) })}
        action={
          mayAdd && !isBuiltIn ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
              <Icon name="plus" />
              {texts.newRole}
            </button>
          ) : undefined
        }
        result={result}
        itemsOf={(data) => data.roles}
        columns={columnsFor(url, where, actions, isBuiltIn)}
        count={texts.roleCount}
        parameter="skip"
        empty={
          <Empty icon="shield" title={texts.noRolesTitle}>
            <p>{texts.noRolesText}</p>
            <Link className="button" href={withParameter(url, "view", builtInView)} isSamePage>
              {texts.builtInRoles}
            </Link>
          </Empty>
        }
      />
      {mayAdd && url.searchParams.has("add") ? (
        <RoleForm place={place} onClose={close} onAdded={(uid) => replaceAddress(withParameters(url, { add: undefined, view: undefined, role: uid }))} />
      ) : null}
      {mayEdit && isUid(edited) ? (
        <Edit
          key={edited}
          title={texts.editRole}
          read={roleAt(edited)}
          form={(version) => <RoleForm place={{ uid: parentOf(edited), name: known.get(parentOf(edited))?.name ?? "" }} version={version} onClose={close} />}
          onClose={close}
        />
      ) : null}
      {removing ? (
        <Removal
          role={removing}
          onClose={() => setRemoving(undefined)}
          onDone={() => {
            if (removing.uid === opened) replaceAddress(withParameter(url, "role", undefined));
          }}
        />
      ) : null}
    </GroupFrame>
  );
};
