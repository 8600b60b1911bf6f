import type { ReactNode } from 'react';

// Line icons, 24 × 24, drawn in the colour of the text around them. They only accompany words or a label.

export function icon(drawing: ReactNode, fill = false) {
  return function Icon({ size = 18 }: { size?: number }) {
    return (
      <svg
        aria-hidden="true"
        focusable="false"
        width={size}
        height={size}
        viewBox="0 0 24 24"
        fill={fill ? 'currentColor' : 'none'}
        stroke={fill ? 'none' : 'currentColor'}
        strokeWidth="1.8"
        strokeLinecap="round"
        strokeLinejoin="round"
      >
        {drawing}
      </svg>
    );
  };
}

export const PlayIcon = icon(
  <path d="M8 5.6v12.8a.6.6 0 0 0 .9.5l10.4-6.4a.6.6 0 0 0 0-1L8.9 5.100a.6.6 0 0 0-.9.5z" />,
  true,
);
export const PauseIcon = icon(<path d="M8 5h2.500v14H8zM13.5 5H16v14h-2.500z" />, true);
export const StopIcon = icon(<rect x="6.5" y="6.5" width="11" height="11" rx="1.5" />, true);
export const RestartIcon = icon(<path d="M5 12a7 7 0 1 1 2.1 5M5 12V7.500M5 12h4.5" />);
export const UndoIcon = icon(<path d="M9 6 5 10l4 4M5 10h9a5 5 0 0 1 0 10h-3" />);
export const MoreIcon = icon(
  <>
    <circle cx="5.5" cy="12" r="1.6" />
    <circle cx="12" cy="12" r="1.6" />
    <circle cx="18.5" cy="12" r="1.6" />
  </>,
  true,
);
export const CopyIcon = icon(<path d="M9 9h10v10H9zM5 15V5h10" />);
export const CheckIcon = icon(<path d="m5 12.5 4.5 4.500L19 7.5" />);
export const UploadIcon = icon(<path d="M12 15V4M7.5 8.5 12 4l4.5 4.500M5 15v4h14v-4" />);
export const DownloadIcon = icon(<path d="M12 4v11M7.5 10.5 12 15l4.5-4.500M5 17v3h14v-3" />);
export const SearchIcon = icon(
  <>
    <circle cx="11" cy="11" r="6" />
    <path d="m20 20-4.5-4.5" />
  </>,
);
export const SunIcon = icon(
  <>
    <circle cx="12" cy="12" r="4" />
    <path d="M12 3v2M12 19v2M3 12h2M19 12h2M5.6 5.6 7 7M17 17l1.4 1.400M5.6 18.4 7 17M17 7l1.4-1.4" />
  </>,
);
export const MoonIcon = icon(<path d="M20 14.500A8 8 0 0 1 9.5 4a8 8 0 1 0 10.5 10.500z" />);
export const ScreenIcon = icon(<path d="M4 5h16v11H4zM9 20h6M12 16v4" />);
export const LogOutIcon = icon(<path d="M10 5H5v14h5M14 8l4 4-4 4M18 12H10" />);
export const UserIcon = icon(
  <>
    <circle cx="12" cy="8.5" r="3.5" />
    <path d="M5 20c.800-3.8 3.5-5.5 7-5.500s6.2 1.7 7 5.5" />
  </>,
);
export const InboundIcon = icon(<path d="M18 6 6.500 17.500M6.500 9v8.500H15" />);
export const OutboundIcon = icon(<path d="M6 18 17.500 6.500M9 6.500h8.500V15" />);
export const LeftIcon = icon(<path d="m14 6-6 6 6 6" />);
export const RightIcon = icon(<path d="m10 6 6 6-6 6" />);
export const DownIcon = icon(<path d="m6 10 6 6 6-6" />);
export const AlertIcon = icon(<path d="M12 4 2.8 19.500h18.400zM12 10v4.500M12 17.200v.1" />);
export const InfoIcon = icon(
  <>
    <circle cx="12" cy="12" r="8.5" />
    <path d="M12 11v5M12 8v.1" />
  </>,
);
export const BookIcon = icon(<path d="M5 4h10.500A3.5 3.5 0 0 1 19 7.500V20H8a3 3 0 0 1-3-3zM5 17a3 3 0 0 1 3-3h11" />);
export const PlusIcon = icon(<path d="M12 5v14M5 12h14" />);
export const TrashIcon = icon(<path d="M5 7h14M10 7V4.500h4V7M7 7l.800 12.500h8.400L17 7M10.5 11v5M13.5 11v5" />);
export const CampaignIcon = icon(
  <path d="M4 10v4a1 1 0 0 0 1 1h3l8 4.500v-15L8 9H5a1 1 0 0 0-1 1zM19 9.500a4 4 0 0 1 0 5" />,
);
export const FileIcon = icon(<path d="M7 3.500h7l4 4v13H7zM14 3.500v4h4" />);

export const EditIcon = icon(<path d="M5 19h3.500L19 8.500 15.5 5 5 15.500zM13 7.500l3.500 3.500" />);
export const ListIcon = icon(<path d="M9 6.500h11M9 12h11M9 17.500h11M4.500 6.500h.1M4.500 12h.1M4.500 17.500h.1" />);
export const ChartIcon = icon(<path d="M4 4v16h16M7.5 15l3.500-4.500 3 2.500L19 7" />);
export const CloseIcon = icon(<path d="M6 6l12 12M18 6 6 18" />);

/** The keypad of the dialler. */
export function Brand({ size = 28 }: { size?: number }) {
  const keys = [10, 16, 22].flatMap((x) => [10, 16].map((y) => [x, y] as const)).concat([[16, 22]]);
  return (
    <svg aria-hidden="true" focusable="false" width={size} height={size} viewBox="0 0 32 32">
      <rect width="32" height="32" rx="8" fill="#3b5bdb" />
      {keys.map(([x, y]) => (
        <circle key={`${x} ${y}`} cx={x} cy={y} r="2.4" fill="#fff" />
      ))}
    </svg>
  );
}
