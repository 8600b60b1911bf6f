import { icon } from './icons';

// The icons of what is set up and administered.

export const KeyIcon = icon(
  <>
    <circle cx="8" cy="15" r="4" />
    <path d="m11 12 8-8M16 7l3 3" />
  </>,
);
export const UsersIcon = icon(
  <>
    <circle cx="9" cy="8.5" r="3.2" />
    <path d="M3 19.5c.6-3.6 3-5.2 6-5.2s5.4 1.6 6 5.2M15.5 5.6a3.2 3.2 0 0 1 0 5.8M17.5 14.8c1.9.7 3.1 2.2 3.5 4.7" />
  </>,
);
export const TrunkIcon = icon(<path d="M4 7h16M4 17h16M8 4 4 7l4 3M16 14l4 3-4 3" />);
export const NumberIcon = icon(<path d="M9.500 4 7.500 20M16.500 4l-2 16M4.500 9h16M3.500 15h16" />);
export const BotIcon = icon(
  <>
    <rect x="4.500" y="8.500" width="15" height="11" rx="3" />
    <path d="M12 8.500V5M12 4.500v.1M9 13v1.500M15 13v1.500M2.500 13v2.500M21.500 13v2.500" />
  </>,
);
export const ShieldIcon = icon(
  <path d="M12 3.500 5 6v5.500c0 4.500 3 7.500 7 9 4-1.500 7-4.500 7-9V6zM9 9.500l6 6M15 9.500l-6 6" />,
);
export const WebhookIcon = icon(
  <>
    <circle cx="6.500" cy="17" r="2.800" />
    <circle cx="17.500" cy="17" r="2.800" />
    <circle cx="12" cy="6.500" r="2.800" />
    <path d="M9.300 17h5.400M10.700 9 8 14.600M13.300 9l2.700 5.600" />
  </>,
);
export const HistoryIcon = icon(<path d="M4.500 5v4.500H9M5 9.500a8 8 0 1 1-1 4.500M12 8.500V13l3 2" />);
export const ClockIcon = icon(
  <>
    <circle cx="12" cy="12" r="8" />
    <path d="M12 7.500V12l3 2.500" />
  </>,
);
export const WallIcon = icon(<path d="M3.500 5h7v6h-7zM13.500 5h7v6h-7zM3.500 14h7v5h-7zM13.500 14h7v5h-7z" />);
export const SimulationIcon = icon(<path d="M4 4v16h16M7 15.500c3 0 3-8 6-8s3 5 6 5" />);
export const EditIcon = icon(<path d="M5 19h3.500L19 8.500 15.500 5 5 15.500zM13.500 7l3.500 3.500" />);
export const PhoneIcon = icon(
  <path
    d={
      'M6 4.5h3.5l1.5 4-2 1.7a11 11 0 0 0 4.8 4.8l1.7-2 4 1.5V18' +
      'a2 2 0 0 1-2.2 2A15.5 15.5 0 0 1 4 6.7 2 2 0 0 1 6 4.5z'
    }
  />,
);
export const LockIcon = icon(<path d="M6 11h12v9H6zM8.500 11V8a3.500 3.500 0 0 1 7 0v3M12 14.500v2" />);
export const CadenceIcon = icon(<path d="M12 6.500V12l3.500 2M4 12a8 8 0 1 0 2.500-5.800M6 3.500v3h3" />);
export const CalendarIcon = icon(<path d="M5 6.500h14V19.500H5zM5 10.500h14M9 4v4M15 4v4" />);
export const EarIcon = icon(
  <path d="M7 9.5a5 5 0 0 1 10 0c0 4-3.5 4.5-3.5 8a2.7 2.7 0 0 1-5 1.4M10 10a2 2 0 0 1 4 0c0 1.8-2 2-2 3.8" />,
);
