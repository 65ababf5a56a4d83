// Identity providers of a group. Which are shown, and the open one, are in the address.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiError, type IdentityProvider, type ListExternalGroupRoleMappingsResponse } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { isUid, navigate, positionIn, replaceAddress, useAddress, withParameter, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Command, Copy, Empty, Failure, Icon, Link, Name, nameOr, Skeleton, Time } from "../parts.tsx";
import { isBelow, type Names, parentOf, PlaceLink, ScopeLinks, scopeIn, useNames } from "../places.tsx";
import { Mappings } from "../providers/mappings.tsx";
import { ProviderForm } from "../providers/provider-form.tsx";
import { deleteProvider, mappingsOf, providerAt, providersAt } from "../providers/requests.ts";
import { Scim } from "../providers/scim.tsx";
import { texts } from "../texts/providers.ts";
import type { Version } from "../conflict.tsx";
import { Edit } from "../edit.tsx";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

interface Where {
  /** The group of the page. */
  readonly here: string;
  readonly names: Names;
}

const DefaultRole = ({ provider: { defaultRole }, names }: { readonly provider: IdentityProvider; readonly names: Names }): ReactNode =>
  defaultRole === "" ? <span className="quiet">{texts.none}</span> : <span className="role">{nameOr(names.get(defaultRole)?.name ?? "", defaultRole)}</span>;

/** Capabilities at a group apply to everything below it only. */
const isWithin = (uid: string, group: string): boolean => uid.startsWith(`${group}/`);

const columnsFor = (url: URL, where: Where, remove: ((provider: IdentityProvider) => void) | undefined): readonly Column<IdentityProvider>[] => [
  {
    title: texts.name,
    cell: ({ uid, name, description }) => (
      <>
        <Link href={withParameters(url, { provider: uid, mappings: undefined })} isSamePage>
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
    title: texts.issuer,
    cell: ({ oidc }) => <bdi className="long">{oidc?.issuer ?? ""}</bdi>,
    minor: true,
  },
  { title: texts.defaultRole, cell: (provider) => <DefaultRole provider={provider} names={where.names} /> },
  { title: texts.inGroup, cell: ({ uid }) => <PlaceLink uid={parentOf(uid)} page="providers" {...where} /> },
  { title: texts.callbackUrl, cell: ({ name, callbackUrl }) => <Copy text={callbackUrl} what={texts.callbackOf(name)} />, minor: true },
  ...(remove
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (provider: IdentityProvider) =>
            isWithin(provider.uid, where.here) ? (
              <button type="button" className="button quiet-button" aria-label={texts.deleteProviderOf(provider.name)} onClick={() => remove(provider)}>
                <Icon name="trash" />
              </button>
            ) : null,
        },
      ]
    : []),
];

const Settings = ({ provider, where }: { readonly provider: IdentityProvider; readonly where: Where }): ReactNode => {
  const { uid, description, oidc, createTime, updateTime, callbackUrl } = provider;
  const fields = [
    [texts.description, description],
    [texts.issuer, oidc?.issuer ?? ""],
    [texts.clientId, oidc?.clientId ?? ""],
    [texts.additionalScopes, (oidc?.additionalScopes ?? []).join(" ")],
    [texts.groupsClaim, oidc?.groupsClaim ?? ""],
    ["uid", uid],
  ] as const;
  return (
    <>
      <h3>{texts.callbackUrl}</h3>
      <p className="quiet details-text">{texts.callbackText}</p>
      <Command text={callbackUrl} what={texts.callbackUrl} />
      <dl>
        {fields.flatMap(([title, value]) =>
          value === ""
            ? []
            : [
                <dt key={`${title}-name`}>{title}</dt>,
                <dd key={title} className="long">
                  <bdi>{value}</bdi> <Copy text={value} what={title} />
                </dd>,
              ],
        )}
        <dt>{texts.correlationRule}</dt>
        <dd>{texts.correlationRules[oidc?.correlationRule ?? "CORRELATION_RULE_UNSPECIFIED"]}</dd>
        <dt>{texts.pkce}</dt>
        <dd>{oidc?.pkceEnabled ? texts.on : texts.off}</dd>
        <dt>{texts.defaultRole}</dt>
        <dd>
          <DefaultRole provider={provider} names={where.names} />
        </dd>
        <dt>{texts.inGroup}</dt>
        <dd>
          <PlaceLink uid={parentOf(uid)} page="providers" {...where} />
        </dd>
        <dt>{texts.created}</dt>
        <dd>
          <Time time={createTime} />
        </dd>
        <dt>{texts.updated}</dt>
        <dd>
          <Time time={updateTime} />
        </dd>
      </dl>
    </>
  );
};

interface DetailsProps extends Pick<GroupPageProps, "path"> {
  readonly result: ReturnType<typeof useAsk<Version<IdentityProvider>>>;
  readonly mapped: ReturnType<typeof useAsk<ListExternalGroupRoleMappingsResponse>>;
  readonly where: Where;
  readonly own: ReadonlySet<string>;
}

const Details = ({ result, mapped, path, where, own }: DetailsProps): ReactNode => {
  const url = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  const provider = result.data?.data.resource;
  const isLoaded = provider !== undefined;
  useEffect(() => {
    if (isLoaded) heading.current?.focus();
  }, [isLoaded]);
  const may = (...names: readonly string[]): boolean => provider !== undefined && isWithin(provider.uid, where.here) && names.every((name) => own.has(name));
  const body = (): ReactNode => {
    if (result.error instanceof ApiError && result.error.code === "NOT_FOUND")
      return (
        <Empty icon="warning" title={texts.notFoundTitle}>
          <p>{texts.notFoundText}</p>
        </Empty>
      );
    // After a failed refresh, the page still shows what it has: a dialog may show a token for the only time.
    if (provider)
      return (
        <>
          <Settings provider={provider} where={where} />
          {provider.scim ? (
            <Scim provider={provider} scim={provider.scim} mayManage={may("identity_providers.scim.manage")} refresh={() => void result.refetch()} />
          ) : null}
        </>
      );
    return result.error ? <Failure error={result.error} retry={() => void result.refetch()} /> : <Skeleton rows={6} />;
  };
  return (
    <>
      <section className="card details" aria-label={provider?.name ?? texts.providers}>
        <header>
          <h2 ref={heading} tabIndex={-1}>
            {provider ? <Name>{provider.name}</Name> : texts.providers}
          </h2>
          <span className="actions">
            {may(...changing) ? (
              <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "edit", ""))}>
                <Icon name="edit" />
                {texts.change}
              </button>
            ) : null}
            <button
              type="button"
              className="copy"
              aria-label={texts.close}
              onClick={() => navigate(withParameters(url, { provider: undefined, edit: undefined, mappings: undefined }), true)}
            >
              <Icon name="close" />
            </button>
          </span>
        </header>
        {body()}
      </section>
      {provider ? <Mappings provider={provider} result={mapped} path={path} mayAdd={may(...adding)} mayDelete={may("identity_providers.delete")} /> : null}
      {provider && may(...changing) && url.searchParams.has("edit") ? (
        <Edit
          title={texts.changeProvider}
          read={providerAt(provider.uid)}
          form={(version) => <ProviderForm path={path} version={version} onClose={closeForm} onDone={closeForm} />}
          onClose={closeForm}
        />
      ) : null}
    </>
  );
};

/** Closes the form of the address as it is then. */
const closeForm = (): void => replaceAddress(withParameters(new URL(location.href), { add: undefined, edit: undefined }));

const adding = ["identity_providers.create", "role_bindings.create"] as const;
const changing = ["identity_providers.update", "role_bindings.create"] as const;
const needed = [...adding, "identity_providers.update", "identity_providers.delete", "identity_providers.scim.manage"] as const;

export const ProvidersPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const result = useAsk(providersAt(scopeIn(url, here), positionIn(url, "skip")));
  const opened = url.searchParams.get("provider") ?? "";
  const open = useAsk(isUid(opened) ? providerAt(opened) : undefined);
  const mapped = useAsk(isUid(opened) ? mappingsOf(opened, positionIn(url, "mappings")) : undefined);
  const providers = result.data?.data.identityProviders ?? [];
  const known = useNames([...providers.map(({ uid }) => parentOf(uid)), ...providers.map(({ defaultRole }) => defaultRole)], path);
  const [removing, setRemoving] = useState<IdentityProvider>();
  const lacking = needed.filter((name) => !own.has(name));
  const mayAdd = adding.every((name) => own.has(name));
  const mayDelete = own.has("identity_providers.delete");
  const where = { here, names: known };
  return (
    <GroupFrame names={names} path={path} current="providers" sent={[result.data?.sent, ...(isUid(opened) ? [open.data?.sent, mapped.data?.sent] : [])]}>
      <div className="scope">
        <ScopeLinks label={texts.scopes} positions={["skip"]} />
        <p className="quiet">{isBelow(url) ? texts.providersBelow : texts.providersHere}</p>
      </div>
      {isUid(opened) ? <Details key={opened} result={open} mapped={mapped} path={path} where={where} own={own} /> : null}
      <ListSection
        title={texts.providers}
        about={own.size === 0 || lacking.length === 0 ? texts.providersText : `${texts.providersText} ${texts.changeNeeds(lacking)}`}
        action={
          mayAdd ? (
            <button type="button" className="button" onClick={() => replaceAddress(withParameter(url, "add", ""))}>
              <Icon name="plus" />
              {texts.addProvider}
            </button>
          ) : undefined
        }
        result={result}
        itemsOf={(data) => data.identityProviders}
        columns={columnsFor(url, where, mayDelete ? setRemoving : undefined)}
        count={texts.providerCount}
        parameter="skip"
        empty={
          <Empty icon="key" title={texts.noProvidersTitle}>
            <p>{texts.noProvidersText}</p>
            <a className="button" href="/docs/how-to/sign-in-providers">
              {texts.guide}
            </a>
          </Empty>
        }
      />
      {mayAdd && url.searchParams.has("add") ? (
        <ProviderForm path={path} onClose={closeForm} onDone={(uid) => replaceAddress(withParameters(url, { add: undefined, provider: uid }))} />
      ) : null}
      {removing ? (
        <Confirm
          title={texts.deleteProvider}
          about={
            <>
              <Name>{removing.name}</Name> <bdi className="quiet">{removing.oidc?.issuer ?? ""}</bdi>
            </>
          }
          effect={`${texts.deleteProviderText} ${texts.undoProviderText}`}
          question={deleteProvider(removing.uid)}
          done={texts.providerDeleted}
          deletes={removing}
          onClose={() => setRemoving(undefined)}
          onDone={() => {
            if (removing.uid === opened) replaceAddress(withParameter(url, "provider", undefined));
          }}
        />
      ) : null}
    </GroupFrame>
  );
};
