// Identities of a group.

import { type ReactNode, useState } from "react";
import type { Identity } from "../../../client/package.ts";
import { mine } from "../access/requests.ts";
import { addressOf, isUid, positionIn, replaceAddress, useAddress, withParameter } from "../address.ts";
import { useAsk } from "../api.ts";
import { EditIdentity } from "../identities/identity-form.tsx";
import { RemoveIdentity } from "../identities/remove-identity.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Copy, Empty, Expiry, Icon, Link, Name, nameOr, Time } from "../parts.tsx";
import { identitiesIn } from "../questions.ts";
import { texts } from "../texts/identities.ts";
import { GroupFrame, type GroupPageProps } from "./group-frame.tsx";

const kindOf = (identity: Identity): string => {
  if (identity.claimMatch) return texts.claimMatch;
  if (identity.staticKeys) return texts.staticKeys;
  if (identity.awsIdentity) return texts.aws;
  return identity.servicePrincipal === undefined || identity.servicePrincipal === "SERVICE_PRINCIPAL_UNSPECIFIED" ? texts.person : texts.service;
};

const isMachine = ({ claimMatch, staticKeys, awsIdentity }: Identity): boolean => [claimMatch, staticKeys, awsIdentity].some((each) => each !== undefined);

interface Actions {
  readonly edit?: (identity: Identity) => void;
  readonly remove?: (identity: Identity) => void;
}

const titleOf = ({ name, email }: Identity): string => name || email;

const columnsFor = (names: readonly string[], { edit, remove }: Actions): readonly Column<Identity>[] => [
  {
    title: texts.name,
    cell: (identity) => (
      <>
        <span className="digest">
          {isMachine(identity) ? (
            <Link className="words" href={`${addressOf(names, "robots")}?robot=${identity.uid}`}>
              {nameOr(titleOf(identity), identity.uid)}
            </Link>
          ) : (
            nameOr(titleOf(identity), identity.uid)
          )}
          <Copy text={identity.uid} what="uid" />
        </span>
        {identity.description === "" ? null : (
          <div className="under-badge quiet">
            <Name>{identity.description}</Name>
          </div>
        )}
      </>
    ),
  },
  { title: texts.kind, cell: kindOf, minor: true },
  { title: texts.lastUsed, cell: ({ lastSeenTime }) => <Time time={lastSeenTime} /> },
  { title: texts.expires, cell: ({ expireTime }) => <Expiry time={expireTime} />, minor: true },
  ...(edit || remove
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (identity: Identity) => (
            <>
              {edit ? (
                <button type="button" className="button quiet-button" aria-label={texts.editOf(titleOf(identity))} onClick={() => edit(identity)}>
                  <Icon name="edit" />
                </button>
              ) : null}
              {remove ? (
                <button type="button" className="button quiet-button" aria-label={texts.deleteOf(titleOf(identity))} onClick={() => remove(identity)}>
                  <Icon name="trash" />
                </button>
              ) : null}
            </>
          ),
        },
      ]
    : []),
];

const changing = ["identity.update", "identity.delete"] as const;

export const IdentitiesPage = ({ names, path }: GroupPageProps): ReactNode => {
  const url = useAddress();
  const here = path.at(-1)?.uid ?? "";
  const own = new Set(useAsk(mine(here)).data?.data.capabilities);
  const result = useAsk(identitiesIn(here, positionIn(url, "skip")));
  const edited = url.searchParams.get("edit") ?? "";
  const [removing, setRemoving] = useState<Identity>();
  const lacking = changing.filter((name) => !own.has(name));
  const actions: Actions = {
    ...(own.has("identity.update") ? { edit: ({ uid }) => replaceAddress(withParameter(url, "edit", uid)) } : {}),
    ...(own.has("identity.delete") ? { remove: setRemoving } : {}),
  };
  return (
    <GroupFrame names={names} path={path} current="identities" sent={[result.data?.sent]}>
      <ListSection
        title={texts.identities}
        about={own.size === 0 || lacking.length === 0 ? texts.identitiesText : `${texts.identitiesText} ${texts.changeNeeds(lacking)}`}
        result={result}
        itemsOf={(data) => data.identities}
        columns={columnsFor(names, actions)}
        count={texts.identityCount}
        parameter="skip"
        empty={
          <Empty icon="user" title={texts.noIdentitiesTitle}>
            <p>{texts.noIdentitiesText}</p>
            <a className="button" href="/docs/guides/ci-identities">
              {texts.ciIdentities}
            </a>
          </Empty>
        }
      />
      {actions.edit && isUid(edited) ? <EditIdentity uid={edited} onClose={() => replaceAddress(withParameter(url, "edit", undefined))} /> : null}
      {removing ? (
        <RemoveIdentity
          title={texts.deleteIdentity}
          kind={kindOf(removing)}
          identity={removing}
          done={texts.identityDeleted}
          onClose={() => setRemoving(undefined)}
        />
      ) : null}
    </GroupFrame>
  );
};
