// Identity providers of a group. Which are shown, and the open one, are in the address.

import { type ReactNode, useEffect, useRef, useState } from "react";
import { ApiError, type IdentityProvider, type IdentityProviderSCIM } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { isUid, navigate, positionIn, replaceAddress, useAddress, withParameter, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Command, Copy, Empty, Expiry, Failure, Icon, Link, Name, nameOr, Skeleton, Time } from "../parts.tsx";
import { isBelow, type Names, parentOf, PlaceLink, ScopeLinks, scopeIn, useNames } from "../places.tsx";
import { ProviderForm } from "../providers/provider-form.tsx";
import { deleteProvider, providerAt, providersAt } from "../providers/requests.ts";
import { texts } from "../texts/providers.ts";
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
        <Link href={withParameter(url, "provider", uid)} isSamePage>
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

const Scim = ({ scim: { enabled, endpointUrl, credentialState, tokenExpireTime } }: { readonly scim: IdentityProviderSCIM }): ReactNode => (
  <>
    <h3>{texts.scim}</h3>
    <dl>
      <dt>{texts.state}</dt>
      <dd>{enabled ? texts.on : texts.off}</dd>
      <dt>{texts.scimToken}</dt>
      <dd>{texts.tokenStates[credentialState]}</dd>
      {tokenExpireTime === undefined ? null : (
        <>
          <dt>{texts.expires}</dt>
          <dd>
            <Expiry time={tokenExpireTime} />
          </dd>
        </>
      )}
      <dt>{texts.scimEndpoint}</dt>
      <dd className="long">
        <code>{endpointUrl}</code> <Copy text={endpointUrl} what={texts.scimEndpoint} />
      </dd>
    </dl>
  </>
);

const Settings = ({ provider, where }: { readonly provider: IdentityProvider; readonly where: Where }): ReactNode => {
  const { uid, description, oidc, scim, createTime, updateTime, callbackUrl } = provider;
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
        <dt>{texts.pkce}</dt>
        <dd>{oidc?.pkceEnabled ? texts.on : texts.off}</dd>
        <dt>{texts.defaultRole}</dt>
        <dd>
          <DefaultRole provider={provider} names={where.names} />
        </dd>
        <dt>{texts.inGroup}</dt>
        <dd>
          <PlaceLink uid={parentOf(uid)} {...where} />
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
      {scim ? <Scim scim={scim} /> : null}
    </>
  );
};

interface DetailsProps {
  readonly result: ReturnType<typeof useAsk<IdentityProvider>>;
  readonly where: Where;
}

const Details = ({ result, where }: DetailsProps): ReactNode => {
  const url = useAddress();
  const heading = useRef<HTMLHeadingElement>(null);
  const provider = result.data?.data;
  const isLoaded = provider !== undefined;
  useEffect(() => {
    if (isLoaded) heading.current?.focus();
  }, [isLoaded]);
  return (
    <section className="card details" aria-label={provider?.name ?? texts.providers}>
      <header>
        <h2 ref={heading} tabIndex={-1}>
          {provider ? <Name>{provider.name}</Name> : texts.providers}
        </h2>
        <button type="button" className="copy" aria-label={texts.close} onClick={() => navigate(withParameter(url, "provider", undefined), true)}>
          <Icon name="close" />
        </button>
      </header>
      {result.error instanceof ApiError && result.error.code === "NOT_FOUND" ? (
        <Empty icon="warning" title={texts.notFoundTitle}>
          <p>{texts.notFoundText}</p>
        </Empty>
      ) : result.error ? (
        <Failure error={result.error} retry={() => void result.refetch()} />
      ) : provider ? (
        <Settings provider={provider} where={where} />
      ) : (
        <Skeleton rows={6} />
      )}
    </section>
  );
};

const changing = ["identity_providers.create", "role_bindings.create", "identity_providers.delete"] as const;

export const ProvidersPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const result = useAsk(providersAt(scopeIn(url, here), positionIn(url, "skip")));
  const opened = url.searchParams.get("provider") ?? "";
  const open = useAsk(isUid(opened) ? providerAt(opened) : undefined);
  const providers = result.data?.data.identityProviders ?? [];
  const known = useNames([...providers.map(({ uid }) => parentOf(uid)), ...providers.map(({ defaultRole }) => defaultRole)], path);
  const [removing, setRemoving] = useState<IdentityProvider>();
  const lacking = changing.filter((name) => !own.has(name));
  const mayAdd = own.has("identity_providers.create") && own.has("role_bindings.create");
  const mayDelete = own.has("identity_providers.delete");
  const where = { here, names: known };
  return (
    <GroupFrame names={names} path={path} current="providers" sent={[result.data?.sent, isUid(opened) ? open.data?.sent : undefined]}>
      <div className="scope">
        <ScopeLinks label={texts.scopes} positions={["skip"]} />
        <p className="quiet">{isBelow(url) ? texts.providersBelow : texts.providersHere}</p>
      </div>
      {isUid(opened) ? <Details key={opened} result={open} where={where} /> : null}
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
        <ProviderForm
          path={path}
          onClose={() => replaceAddress(withParameter(url, "add", undefined))}
          onAdded={(uid) => replaceAddress(withParameters(url, { add: undefined, provider: uid }))}
        />
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
