// Items of a request, and the actions of a draft's items.

import { type ReactNode, useEffect, useState } from "react";
import type { Availability, RequestGroupItem, Upgrade } from "../../../client/package.ts";
import { addressOf, withParameters } from "../address.ts";
import { useAsk } from "../api.ts";
import { Confirm } from "../confirm.tsx";
import { Dialog } from "../dialog.tsx";
import { Badge, type Column, Failure, Icon, Link, Name, Skeleton } from "../parts.tsx";
import { texts } from "../texts/libraries.ts";
import { blockingItemsOf, blockingMax, removeItems, restoreItems } from "./requests.ts";

const tones: Partial<Record<Availability, "good" | "warn">> = {
  AVAILABILITY_BUILT: "good",
  AVAILABILITY_INVALID_REQUIREMENT: "warn",
  AVAILABILITY_BUILD_FAILED: "warn",
  AVAILABILITY_BLOCKED: "warn",
};

interface AvailableProps {
  readonly availability: Availability;
  readonly reason: string;
}

export const Available = ({ availability, reason }: AvailableProps): ReactNode => (
  <>
    <Badge tone={tones[availability] ?? "plain"}>{texts.availabilities[availability]}</Badge>
    {reason === "" || availability === "AVAILABILITY_CAN_BE_REQUESTED" ? null : (
      <div className="under-badge quiet">
        <Name>{reason}</Name>
      </div>
    )}
  </>
);

export const Upgrades = ({ upgrade }: { readonly upgrade: Upgrade | undefined }): ReactNode => {
  const { closestVersion = "", latestVersion = "" } = upgrade ?? {};
  const parts = [
    ...(closestVersion === "" || closestVersion === latestVersion ? [] : [texts.nextVersion(closestVersion)]),
    ...(latestVersion === "" ? [] : [texts.latestVersion(latestVersion)]),
  ];
  return parts.length === 0 ? <span className="quiet">{texts.none}</span> : <Name>{parts.join(", ")}</Name>;
};

/** The address of a library in the catalog. */
const catalogAddress = (names: readonly string[], { packageName, ecosystem }: RequestGroupItem): string =>
  withParameters(new URL(addressOf(names, "libraries"), location.origin), { view: "catalog", ecosystem, query: packageName });

/** `choose` removes or restores an item. */
export const itemColumns = (names: readonly string[], choose: ((item: RequestGroupItem) => void) | undefined): readonly Column<RequestGroupItem>[] => [
  {
    title: texts.requirement,
    cell: ({ requirement }) => (
      <span className="long">
        <Name>{requirement}</Name>
      </span>
    ),
  },
  {
    title: texts.library,
    cell: (item) =>
      item.packageName === "" ? (
        <span className="quiet">{texts.none}</span>
      ) : (
        <Link className="long" href={catalogAddress(names, item)} isSamePage>
          <Name>{item.packageName}</Name>
        </Link>
      ),
    minor: true,
  },
  {
    title: texts.state,
    cell: ({ removed, availability, availabilityReason }) =>
      removed ? <Badge tone="plain">{texts.removed}</Badge> : <Available availability={availability} reason={availabilityReason} />,
  },
  { title: texts.upgrades, cell: ({ upgrade }) => <Upgrades upgrade={upgrade} />, minor: true },
  ...(choose
    ? [
        {
          title: texts.actions,
          action: true,
          cell: (item: RequestGroupItem) => (
            <button
              type="button"
              className="button quiet-button"
              aria-label={item.removed ? texts.restoreOf(item.requirement) : texts.removeOf(item.requirement)}
              onClick={() => choose(item)}
            >
              <Icon name={item.removed ? "redo" : "minus"} />
            </button>
          ),
        },
      ]
    : []),
];

interface ChangeItemProps {
  readonly request: string;
  readonly item: RequestGroupItem;
  readonly onClose: () => void;
}

/** Removes an item, or restores a removed one. */
export const ChangeItem = ({ request, item: { uid, requirement, removed }, onClose }: ChangeItemProps): ReactNode => (
  <Confirm
    title={removed ? texts.restoreItems : texts.removeItems}
    about={<Name>{requirement}</Name>}
    effect={removed ? texts.restoreText : texts.removeText}
    question={removed ? restoreItems(request, [uid]) : removeItems(request, [uid])}
    done={removed ? texts.itemsRestored : texts.itemsRemoved}
    isDangerous={false}
    onClose={onClose}
  />
);

/** Removes the items that prevent a submission. */
export const RemoveBlocking = ({ request, onClose }: { readonly request: string; readonly onClose: () => void }): ReactNode => {
  const { data, error, isFetching, refetch } = useAsk(blockingItemsOf(request));
  const [found, setFound] = useState<typeof data>();
  useEffect(() => {
    // An earlier answer can have items that are removed by now, and the removal reads it again.
    if (data && !isFetching) setFound((before) => before ?? data);
  }, [data, isFetching]);
  if (!found)
    return (
      <Dialog label={texts.removeItems} className="dialog form-dialog" onClose={onClose}>
        {error ? <Failure error={error} retry={() => void refetch()} /> : <Skeleton rows={4} />}
      </Dialog>
    );
  const { requestGroupItems: items, totalCount } = found.data;
  return (
    <Confirm
      title={texts.removeItems}
      about={texts.itemCount(items.length)}
      effect={Number(totalCount ?? 0) > items.length ? `${texts.removeFirst(blockingMax)} ${texts.removeText}` : texts.removeText}
      question={removeItems(
        request,
        items.map(({ uid }) => uid),
      )}
      done={texts.itemsRemoved}
      isDangerous={false}
      onClose={onClose}
    />
  );
};
