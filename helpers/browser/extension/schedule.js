// Shifts: from one time of day to another, on the days on which they begin; local time. Pure.

const minutes = (text) => {
  const [hours, rest] = text.split(":").map(Number);
  return hours * 60 + rest;
};

// Whether now lies in a shift. One that ends before it begins goes over midnight; equal times are a whole day.
export function isOnDuty({ shift, from, to, days }, now) {
  if (!shift) return true;
  const begin = minutes(from), end = minutes(to), at = now.getHours() * 60 + now.getMinutes();
  const today = now.getDay(), yesterday = (today + 6) % 7;
  if (begin < end) return days.includes(today) && at >= begin && at < end;
  return (days.includes(today) && at >= begin) || (days.includes(yesterday) && at < end);
}
