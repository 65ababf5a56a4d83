// Group mappings of an identity provider: roles for the users of its groups.

import { type ReactNode, useState } from "react";
import type { ExternalGroupRoleMapping, IdentityProvider, ListExternalGroupRoleMappingsResponse } from "../../../client/package.ts";
import type { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { ListSection } from "../list-section.tsx";
import { type Column, Empty, Icon, Name, nameOr, Time } from "../parts.tsx";
import { type Names, PlaceLink, useNames } from "../places.tsx";
import type { Place } from "../questions.ts";
import { texts } from "../texts/providers.ts";
import { MappingForm } from "./mapping-form.tsx";
import { deleteMapping, deleteMappings } from "./requests.ts";

interface Choosing {
  readonly chosen: ReadonlySet<string>;
  readonly choose: (uid: string, isChosen: boolean) => void;
  readonly remove: (mapping: ExternalGroupRoleMapping) => void;
}

const columnsFor = (names: Names, here: string, choosing: Choosing | undefined): readonly Column<ExternalGroupRoleMapping>[] => [
  {
    title: texts.externalGroup,
    cell: ({ uid, externalGroupId }) =>
      choosing ? (
        <label className="check">
          <input type="checkbox" checked={choosing.chosen.has(uid)} onChange={({ target }) => choosing.choose(uid, target.checked)} />
          <span className="long">
            <Name>{externalGroupId}</Name>
          </span>
        </label>
      ) : (
        <Name>{externalGroupId}</Name>
      ),
  },
  { title: texts.role, cell: ({ roleUid }) => <span className="role words">{nameOr(names.get(roleUid)?.name ?? "", roleUid)}</span> },
  { title: texts.inGroup, cell: ({ scope }) => <PlaceLink uid={scope} here={here} names={names} page="access" />, minor: true },
  { title: texts.created, cell: ({ createTime }) => <Time time={createTime} />, minor: true },
  ...(choosing
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (mapping: ExternalGroupRoleMapping) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={texts.deleteMappingOf(mapping.externalGroupId)}
              onClick={() => choosing.remove(mapping)}
            >
              <Icon name="trash" />
            </button>
          ),
        },
      ]
    : []),
];

interface MappingsProps {
  readonly provider: IdentityProvider;
  readonly result: ReturnType<typeof useAsk<ListExternalGroupRoleMappingsResponse>>;
  readonly path: readonly Place[];
  readonly mayAdd: boolean;
  readonly mayDelete: boolean;
}

export const Mappings = ({ provider, result, path, mayAdd, mayDelete }: MappingsProps): ReactNode => {
  const mappings = result.data?.data.externalGroupRoleMappings ?? [];
  const names = useNames(
    mappings.flatMap(({ roleUid, scope }) => [roleUid, scope]),
    path,
  );
  const [isAdding, setAdding] = useState(false);
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [removing, setRemoving] = useState<readonly ExternalGroupRoleMapping[]>([]);
  const shown = mappings.filter(({ uid }) => chosen.has(uid));
  const choose = (uid: string, isChosen: boolean): void => setChosen(new Set(isChosen ? [...chosen, uid] : [...chosen].filter((each) => each !== uid)));
  const hasGroups = (provider.oidc?.groupsClaim ?? "") !== "" || provider.scim?.enabled === true;
  const [only, ...others] = removing;
  return (
    <>
      <ListSection
        title={texts.mappings}
        about={hasGroups ? texts.mappingsText : `${texts.mappingsText} ${texts.mappingsNeedGroups}`}
        action={
          <>
            {shown.length > 0 ? (
              <button type="button" className="button danger" onClick={() => setRemoving(shown)}>
                {texts.deleteMappings(shown.length)}
              </button>
            ) : null}
            {mayAdd ? (
              <button type="button" className="button" onClick={() => setAdding(true)}>
                <Icon name="plus" />
                {texts.addMapping}
              </button>
            ) : null}
          </>
        }
        result={result}
        itemsOf={(data) => data.externalGroupRoleMappings}
        columns={columnsFor(names, path.at(-1)?.uid ?? "", mayDelete ? { chosen, choose, remove: (mapping) => setRemoving([mapping]) } : undefined)}
        count={texts.mappingCount}
        parameter="mappings"
        empty={
          <Empty icon="key" title={texts.noMappingsTitle}>
            <p>{texts.noMappingsText}</p>
          </Empty>
        }
      />
      {isAdding ? <MappingForm provider={provider} path={path} onClose={() => setAdding(false)} /> : null}
      {only ? (
        <Confirm
          title={others.length > 0 ? texts.deleteMappings(removing.length) : texts.deleteMapping}
          about={removing.map(({ uid, externalGroupId, roleUid }) => (
            <span key={uid} className="line">
              <Name>{externalGroupId}</Name> → <span className="role">{nameOr(names.get(roleUid)?.name ?? "", roleUid)}</span>
            </span>
          ))}
          effect={texts.deleteMappingText}
          question={
            others.length > 0
              ? deleteMappings(
                  provider.uid,
                  removing.map(({ uid }) => uid),
                )
              : deleteMapping(only.uid)
          }
          done={texts.mappingsDeleted(removing.length)}
          {...(others.length > 0 ? {} : { deletes: { uid: only.uid, name: only.externalGroupId } })}
          onClose={() => setRemoving([])}
          onDone={() => setChosen(new Set())}
        />
      ) : null}
    </>
  );
};
