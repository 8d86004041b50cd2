"""The Feynman symbolic regression database: 100 laws of the lectures and 20 harder ones.

Formulas and ranges are those of the database (Udrescu and Tegmark, 2020). They are written with
the physical names; the features are x1, x2, ... in the order of the ranges.
"""

from __future__ import annotations

import re

from gsr.benchmarks.suites.problem import Problem
from gsr.benchmarks.suites.sampling import Box

ROWS = 200
Range = tuple[float, float]

U12, U13, U15 = (1, 2), (1, 3), (1, 5)
U06, U35 = (0, 6), (3, 5)
SLOW, LIGHT = (1, 2), (3, 10)


def _law(number: str, formula: str, /, **ranges: Range) -> Problem:
    names = {name: f"x{k}" for k, name in enumerate(ranges, 1)}
    renamed = re.sub(r"[A-Za-z]\w*", lambda word: names.get(word[0], word[0]), formula)
    return Problem(
        suite="feynman",
        name=f"Feynman-{number}",
        expression=renamed,
        variables=tuple(names.values()),
        sampling=Box(tuple(ranges.values()), ROWS),
        library=(),
        target_library=(),
        note=f"{formula}; " + ", ".join(f"{x} = {name}" for name, x in names.items()),
    )


VOLUME_1 = (
    _law("I.6.20a", "exp(-theta**2/2)/sqrt(2*pi)", theta=U13),
    _law("I.6.20", "exp(-(theta/sigma)**2/2)/(sqrt(2*pi)*sigma)", sigma=U13, theta=U13),
    _law("I.6.20b", "exp(-((theta - theta1)/sigma)**2/2)/(sqrt(2*pi)*sigma)",
         sigma=U13, theta=U13, theta1=U13),
    _law("I.8.14", "sqrt((x2 - x1)**2 + (y2 - y1)**2)", x1=U15, x2=U15, y1=U15, y2=U15),
    _law("I.9.18", "G*m1*m2/((x2 - x1)**2 + (y2 - y1)**2 + (z2 - z1)**2)",
         m1=U12, m2=U12, G=U12, x1=(3, 4), x2=U12, y1=(3, 4), y2=U12, z1=(3, 4), z2=U12),
    _law("I.10.7", "m0/sqrt(1 - v**2/c**2)", m0=U15, v=SLOW, c=LIGHT),
    _law("I.11.19", "x1*y1 + x2*y2 + x3*y3", x1=U15, x2=U15, x3=U15, y1=U15, y2=U15, y3=U15),
    _law("I.12.1", "mu*Nn", mu=U15, Nn=U15),
    _law("I.12.2", "q1*q2/(4*pi*epsilon*r**2)", q1=U15, q2=U15, epsilon=U15, r=U15),
    _law("I.12.4", "q1/(4*pi*epsilon*r**2)", q1=U15, epsilon=U15, r=U15),
    _law("I.12.5", "q2*Ef", q2=U15, Ef=U15),
    _law("I.12.11", "q*(Ef + B*v*sin(theta))", q=U15, Ef=U15, B=U15, v=U15, theta=U15),
    _law("I.13.4", "m*(v**2 + u**2 + w**2)/2", m=U15, v=U15, u=U15, w=U15),
    _law("I.13.12", "G*m1*m2*(1/r2 - 1/r1)", m1=U15, m2=U15, r1=U15, r2=U15, G=U15),
    _law("I.14.3", "m*g*z", m=U15, g=U15, z=U15),
    _law("I.14.4", "k*x**2/2", k=U15, x=U15),
    _law("I.15.3x", "(x - u*t)/sqrt(1 - u**2/c**2)", x=(5, 10), u=SLOW, c=(3, 20), t=U12),
    _law("I.15.3t", "(t - u*x/c**2)/sqrt(1 - u**2/c**2)", x=U15, c=LIGHT, u=SLOW, t=U15),
    _law("I.15.10", "m0*v/sqrt(1 - v**2/c**2)", m0=U15, v=SLOW, c=LIGHT),
    _law("I.16.6", "(u + v)/(1 + u*v/c**2)", c=U15, v=U15, u=U15),
    _law("I.18.4", "(m1*r1 + m2*r2)/(m1 + m2)", m1=U15, m2=U15, r1=U15, r2=U15),
    _law("I.18.12", "r*F*sin(theta)", r=U15, F=U15, theta=(0, 5)),
    _law("I.18.14", "m*r*v*sin(theta)", m=U15, r=U15, v=U15, theta=U15),
    _law("I.24.6", "m*(omega**2 + omega0**2)*x**2/4", m=U13, omega=U13, omega0=U13, x=U13),
    _law("I.25.13", "q/C", q=U15, C=U15),
    _law("I.26.2", "asin(n*sin(theta2))", n=(0, 1), theta2=U15),
    _law("I.27.6", "1/(1/d1 + n/d2)", d1=U15, d2=U15, n=U15),
    _law("I.29.4", "omega/c", omega=(1, 10), c=(1, 10)),
    _law("I.29.16", "sqrt(x1**2 + x2**2 - 2*x1*x2*cos(theta1 - theta2))",
         x1=U15, x2=U15, theta1=U15, theta2=U15),
    _law("I.30.3", "I0*sin(n*theta/2)**2/sin(theta/2)**2", I0=U15, theta=U15, n=U15),
    _law("I.30.5", "asin(lambd/(n*d))", lambd=U12, d=(2, 5), n=U15),
    _law("I.32.5", "q**2*a**2/(6*pi*epsilon*c**3)", q=U15, a=U15, epsilon=U15, c=U15),
    _law("I.32.17", "epsilon*c*Ef**2/2*(8*pi*r**2/3)*omega**4/(omega**2 - omega0**2)**2",
         epsilon=U12, c=U12, Ef=U12, r=U12, omega=U12, omega0=U35),
    _law("I.34.8", "q*v*B/p", q=U15, v=U15, B=U15, p=U15),
    _law("I.34.10", "omega0/(1 - v/c)", c=LIGHT, v=SLOW, omega0=U15),
    _law("I.34.14", "(1 + v/c)/sqrt(1 - v**2/c**2)*omega0", c=LIGHT, v=SLOW, omega0=U15),
    _law("I.34.27", "h*omega/(2*pi)", omega=U15, h=U15),
    _law("I.37.4", "I1 + I2 + 2*sqrt(I1*I2)*cos(delta)", I1=U15, I2=U15, delta=U15),
    _law("I.38.12", "4*pi*epsilon*(h/(2*pi))**2/(m*q**2)", m=U15, q=U15, h=U15, epsilon=U15),
    _law("I.39.10", "3*pr*V/2", pr=U15, V=U15),
    _law("I.39.11", "pr*V/(gam - 1)", gam=(2, 5), pr=U15, V=U15),
    _law("I.39.22", "n*kb*T/V", n=U15, T=U15, V=U15, kb=U15),
    _law("I.40.1", "n0*exp(-m*g*x/(kb*T))", n0=U15, m=U15, x=U15, T=U15, g=U15, kb=U15),
    _law("I.41.16", "h/(2*pi)*omega**3/(pi**2*c**2*(exp(h/(2*pi)*omega/(kb*T)) - 1))",
         omega=U15, T=U15, h=U15, kb=U15, c=U15),
    _law("I.43.16", "mu*q*V/d", mu=U15, q=U15, V=U15, d=U15),
    _law("I.43.31", "mob*kb*T", mob=U15, T=U15, kb=U15),
    _law("I.43.43", "kb*v/((gam - 1)*A)", gam=(2, 5), kb=U15, A=U15, v=U15),
    _law("I.44.4", "n*kb*T*log(V2/V1)", n=U15, kb=U15, T=U15, V1=U15, V2=U15),
    _law("I.47.23", "sqrt(gam*pr/rho)", gam=U15, pr=U15, rho=U15),
    _law("I.48.20", "m*c**2/sqrt(1 - v**2/c**2)", m=U15, v=SLOW, c=LIGHT),
    _law("I.50.26", "x1*(cos(omega*t) + alpha*cos(omega*t)**2)",
         x1=U13, omega=U13, t=U13, alpha=U13),
)  # fmt: skip

VOLUME_2 = (
    _law("II.2.42", "kappa*(T2 - T1)*A/d", kappa=U15, T1=U15, T2=U15, A=U15, d=U15),
    _law("II.3.24", "P/(4*pi*r**2)", P=U15, r=U15),
    _law("II.4.23", "q/(4*pi*epsilon*r)", q=U15, epsilon=U15, r=U15),
    _law("II.6.11", "p*cos(theta)/(4*pi*epsilon*r**2)", epsilon=U13, p=U13, theta=U13, r=U13),
    _law("II.6.15a", "p/(4*pi*epsilon)*3*z/r**5*sqrt(x**2 + y**2)",
         epsilon=U13, p=U13, r=U13, x=U13, y=U13, z=U13),
    _law("II.6.15b", "p/(4*pi*epsilon)*3*cos(theta)*sin(theta)/r**3",
         epsilon=U13, p=U13, theta=U13, r=U13),
    _law("II.8.7", "3*q**2/(20*pi*epsilon*d)", q=U15, epsilon=U15, d=U15),
    _law("II.8.31", "epsilon*Ef**2/2", epsilon=U15, Ef=U15),
    _law("II.10.9", "sigma/(epsilon*(1 + chi))", sigma=U15, epsilon=U15, chi=U15),
    _law("II.11.3", "q*Ef/(m*(omega0**2 - omega**2))",
         q=U13, Ef=U13, m=U13, omega0=U35, omega=U12),
    _law("II.11.17", "n0*(1 + p*Ef*cos(theta)/(kb*T))",
         n0=U13, kb=U13, T=U13, theta=U13, p=U13, Ef=U13),
    _law("II.11.20", "n*p**2*Ef/(3*kb*T)", n=U15, p=U15, Ef=U15, kb=U15, T=U15),
    _law("II.11.27", "n*alpha/(1 - n*alpha/3)*epsilon*Ef",
         n=(0, 1), alpha=(0, 1), epsilon=U12, Ef=U12),
    _law("II.11.28", "1 + n*alpha/(1 - n*alpha/3)", n=(0, 1), alpha=(0, 1)),
    _law("II.13.17", "2*I/(4*pi*epsilon*c**2*r)", epsilon=U15, c=U15, I=U15, r=U15),
    _law("II.13.23", "rho0/sqrt(1 - v**2/c**2)", rho0=U15, v=SLOW, c=LIGHT),
    _law("II.13.34", "rho0*v/sqrt(1 - v**2/c**2)", rho0=U15, v=SLOW, c=LIGHT),
    _law("II.15.4", "-mom*B*cos(theta)", mom=U15, B=U15, theta=U15),
    _law("II.15.5", "-p*Ef*cos(theta)", p=U15, Ef=U15, theta=U15),
    _law("II.21.32", "q/(4*pi*epsilon*r*(1 - v/c))", q=U15, epsilon=U15, r=U15, v=SLOW, c=LIGHT),
    _law("II.24.17", "sqrt(omega**2/c**2 - pi**2/d**2)", omega=(4, 6), c=U12, d=(2, 4)),
    _law("II.27.16", "epsilon*c*Ef**2", epsilon=U15, c=U15, Ef=U15),
    _law("II.27.18", "epsilon*Ef**2", epsilon=U15, Ef=U15),
    _law("II.34.2a", "q*v/(2*pi*r)", q=U15, v=U15, r=U15),
    _law("II.34.2", "q*v*r/2", q=U15, v=U15, r=U15),
    _law("II.34.11", "g*q*B/(2*m)", g=U15, q=U15, B=U15, m=U15),
    _law("II.34.29a", "q*h/(4*pi*m)", q=U15, h=U15, m=U15),
    _law("II.34.29b", "2*pi*g*mom*B*Jz/h", g=U15, h=U15, Jz=U15, mom=U15, B=U15),
    _law("II.35.18", "n0/(exp(mom*B/(kb*T)) + exp(-mom*B/(kb*T)))",
         n0=U13, kb=U13, T=U13, mom=U13, B=U13),
    _law("II.35.21", "n*mom*tanh(mom*B/(kb*T))", n=U15, mom=U15, B=U15, kb=U15, T=U15),
    _law("II.36.38", "mom*H/(kb*T) + mom*alpha*M/(epsilon*c**2*kb*T)",
         mom=U13, H=U13, kb=U13, T=U13, alpha=U13, epsilon=U13, c=U13, M=U13),
    _law("II.37.1", "mom*(1 + chi)*B", mom=U15, B=U15, chi=U15),
    _law("II.38.3", "Y*A*x/d", Y=U15, A=U15, d=U15, x=U15),
    _law("II.38.14", "Y/(2*(1 + sigma))", Y=U15, sigma=U15),
)  # fmt: skip

VOLUME_3 = (
    _law("III.4.32", "1/(exp(h*omega/(2*pi*kb*T)) - 1)", h=U15, omega=U15, kb=U15, T=U15),
    _law("III.4.33", "h*omega/(2*pi)/(exp(h*omega/(2*pi*kb*T)) - 1)",
         h=U15, omega=U15, kb=U15, T=U15),
    _law("III.7.38", "4*pi*mom*B/h", mom=U15, B=U15, h=U15),
    _law("III.8.54", "sin(2*pi*E*t/h)**2", E=U12, t=U12, h=(1, 4)),
    _law("III.9.52",
         "2*pi*p*Ef*t/h*sin((omega - omega0)*t/2)**2/((omega - omega0)*t/2)**2",
         p=U13, Ef=U13, t=U13, h=U13, omega=U15, omega0=U15),
    _law("III.10.19", "mom*sqrt(Bx**2 + By**2 + Bz**2)", mom=U15, Bx=U15, By=U15, Bz=U15),
    _law("III.12.43", "n*h/(2*pi)", n=U15, h=U15),
    _law("III.13.18", "4*pi*E*d**2*k/h", E=U15, d=U15, k=U15, h=U15),
    _law("III.14.14", "I0*(exp(q*V/(kb*T)) - 1)", I0=U15, q=U12, V=U12, kb=U12, T=U12),
    _law("III.15.12", "2*U*(1 - cos(k*d))", U=U15, k=U15, d=U15),
    _law("III.15.14", "(h/(2*pi))**2/(2*E*d**2)", h=U15, E=U15, d=U15),
    _law("III.15.27", "2*pi*alpha/(n*d)", alpha=U15, n=U15, d=U15),
    _law("III.17.37", "bet*(1 + alpha*cos(theta))", bet=U15, alpha=U15, theta=U15),
    _law("III.19.51", "-m*q**4/(2*(4*pi*epsilon)**2*(h/(2*pi))**2*n**2)",
         m=U15, q=U15, h=U15, n=U15, epsilon=U15),
    _law("III.21.20", "-rho*q*A/m", rho=U15, q=U15, A=U15, m=U15),
)  # fmt: skip

BONUS = (
    _law("B1", "(Z1*Z2*alpha*hbar*c/(4*E*sin(theta/2)**2))**2",
         Z1=U12, Z2=U12, alpha=U12, hbar=U12, c=U12, E=U13, theta=U13),
    _law("B2", "m*k/L**2*(1 + sqrt(1 + 2*E*L**2/(m*k**2))*cos(theta1 - theta2))",
         m=U13, k=U13, L=U13, E=U13, theta1=U06, theta2=U06),
    _law("B3", "d*(1 - alpha**2)/(1 + alpha*cos(theta1 - theta2))",
         d=U13, alpha=(2, 4), theta1=(4, 5), theta2=(4, 5)),
    _law("B4", "sqrt(2/m*(E - U - L**2/(2*m*r**2)))", m=U13, E=(8, 12), U=U13, L=U13, r=U13),
    _law("B5", "2*pi*d**(3/2)/sqrt(G*(m1 + m2))", d=U13, G=U13, m1=U13, m2=U13),
    _law("B6", "sqrt(1 + 2*epsilon**2*E*L**2/(m*(Z1*Z2*q**2)**2))",
         epsilon=U13, L=U13, m=U13, Z1=U13, Z2=U13, q=U13, E=U13),
    _law("B7", "sqrt(8*pi*G*rho/3 - alpha*c**2/d**2)", G=U13, rho=U13, alpha=U12, c=U12, d=U13),
    _law("B8", "E/(1 + E/(m*c**2)*(1 - cos(theta)))", E=U13, m=U13, c=U13, theta=U13),
    _law("B9", "-32*G**4/(5*c**5)*(m1*m2)**2*(m1 + m2)/r**5",
         G=U12, c=U12, m1=U15, m2=U15, r=U12),
    _law("B10", "acos((cos(theta2) - v/c)/(1 - v/c*cos(theta2)))", c=(4, 6), v=U13, theta2=U13),
    _law("B11", "I0*(sin(alpha/2)*sin(n*delta/2)/(alpha/2*sin(delta/2)))**2",
         I0=U13, alpha=U13, delta=U13, n=U12),
    _law("B12", "q/(4*pi*epsilon*y**2)*(4*pi*epsilon*V*d - q*d*y**3/(y**2 - d**2)**2)",
         q=U15, y=U13, V=U15, d=(4, 6), epsilon=U15),
    _law("B13", "q/(4*pi*epsilon*sqrt(r**2 + d**2 - 2*r*d*cos(alpha)))",
         q=U15, r=U13, d=(4, 6), alpha=U06, epsilon=U15),
    _law("B14", "Ef*cos(theta)*(-r + d**3/r**2*(alpha - 1)/(alpha + 2))",
         Ef=U15, theta=U06, r=U15, d=U15, alpha=U15),
    _law("B15", "sqrt(1 - v**2/c**2)*omega/(1 + v/c*cos(theta))",
         c=(5, 20), v=U13, omega=U15, theta=U06),
    _law("B16", "sqrt((p - q*A)**2*c**2 + m**2*c**4) + q*V",
         m=U15, c=U15, p=U15, q=U15, A=U15, V=U15),
    _law("B17", "(p**2 + m**2*omega**2*x**2*(1 + alpha*x/y))/(2*m)",
         m=U15, omega=U15, p=U15, y=U15, x=U15, alpha=U15),
    _law("B18", "3/(8*pi*G)*(c**2*k/r**2 + H**2)", G=U15, k=U15, r=U15, H=U15, c=U15),
    _law("B19", "-1/(8*pi*G)*(c**4*k/r**2 + H**2*c**2*(1 - 2*alpha))",
         G=U15, k=U15, r=U15, H=U15, alpha=U15, c=U15),
    _law("B20", "(alpha*h/(m*c))**2/(4*pi)*(omega0/omega)**2"
         "*(omega0/omega + omega/omega0 - sin(bet)**2)",
         omega=U15, omega0=U15, alpha=U15, h=U15, m=U15, c=U15, bet=U06),
)  # fmt: skip

FEYNMAN: tuple[Problem, ...] = VOLUME_1 + VOLUME_2 + VOLUME_3 + BONUS
